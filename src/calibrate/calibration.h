#pragma once
// Common interface of the searches of `longhaul calibrate`: prompts are read one after the other, a
// result is available after each of them, and a file allows a later run to continue.

#include <filesystem>
#include <string>

#include "base/cancel.h"

namespace longhaul {

class Calibration {
 public:
  virtual ~Calibration() = default;

  /// Number of all steps, and of completed ones.
  virtual int64_t total() const = 0;
  virtual int64_t done() const = 0;
  bool finished() const { return done() >= total(); }

  /// Runs the next step. False: cancelled, without any change.
  virtual bool advance(const CancelFlag* cancel) = 0;
  /// The state in a few words; may be empty.
  virtual std::string note() const { return {}; }
  /// Estimated remaining work, in prompt tokens that take as long to read.
  virtual double tokens_left() const = 0;

  /// The complete state as JSON, so that a later run continues with the same numbers. restore()
  /// throws UserError if the file belongs to another model, other settings or another kind of
  /// search.
  virtual void save(const std::filesystem::path& file) const = 0;
  virtual void restore(const std::filesystem::path& file) = 0;
};

}  // namespace longhaul
