#pragma once
// Calibration is the interface of the searches that `longhaul calibrate` runs. A search finds
// settings of an attention method for a model. It consists of steps, and usually processes one
// prompt per step. Its state can be saved after each step, so that a later run can continue.

#include <filesystem>
#include <string>

#include "base/cancel.h"

namespace longhaul {

class Calibration {
 public:
  virtual ~Calibration() = default;

  /// total() returns the number of all steps, and done() the number of completed steps.
  virtual int64_t total() const = 0;
  virtual int64_t done() const = 0;
  bool finished() const { return done() >= total(); }

  /// Runs the next step. Returns false if the step was cancelled, which leaves the state unchanged.
  virtual bool advance(const CancelFlag* cancel) = 0;
  /// Returns a short description of the state for the progress bar. The result may be empty.
  virtual std::string note() const { return {}; }
  /// Returns an estimate of the remaining work. Its unit is the work of prefilling one token.
  virtual double tokens_left() const = 0;

  /// save() writes the state as JSON, and restore() reads it. The search then yields the same
  /// results as if it had not been interrupted. restore() throws UserError if the file belongs to
  /// another model, other settings or another search.
  virtual void save(const std::filesystem::path& file) const = 0;
  virtual void restore(const std::filesystem::path& file) = 0;
};

}  // namespace longhaul
