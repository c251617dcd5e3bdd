#pragma once
// Calibration is the interface of the searches of `longhaul calibrate`. A search processes one
// prompt after the other. A result is available after each prompt. The state can be saved in a
// file, so that a later run continues.

#include <filesystem>
#include <string>

#include "base/cancel.h"

namespace longhaul {

class Calibration {
 public:
  virtual ~Calibration() = default;

  /// total() returns the number of all steps, and done() that of completed steps.
  virtual int64_t total() const = 0;
  virtual int64_t done() const = 0;
  bool finished() const { return done() >= total(); }

  /// Runs the next step. Returns false if it was cancelled; nothing is changed then.
  virtual bool advance(const CancelFlag* cancel) = 0;
  /// Returns a short description of the state. The result may be empty.
  virtual std::string note() const { return {}; }
  /// Returns an estimate of the remaining work, as the number of prompt tokens whose prefill takes
  /// the same time.
  virtual double tokens_left() const = 0;

  /// save() writes the complete state as JSON, and restore() reads it. A later run then continues
  /// with the same numbers. restore() throws UserError if the file belongs to another model, other
  /// settings or another kind of search.
  virtual void save(const std::filesystem::path& file) const = 0;
  virtual void restore(const std::filesystem::path& file) = 0;
};

}  // namespace longhaul
