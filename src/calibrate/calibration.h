#pragma once
// What all searches of `longhaul calibrate` are: prompts read one after the other, a result that is
// there after any of them, and a file by which a later run goes on.

#include <filesystem>
#include <string>

#include "base/cancel.h"

namespace longhaul {

class Calibration {
 public:
  virtual ~Calibration() = default;

  /// Steps in all, and those done.
  virtual int64_t total() const = 0;
  virtual int64_t done() const = 0;
  bool finished() const { return done() >= total(); }

  /// The next step. False: cancelled, and nothing has changed.
  virtual bool advance(const CancelFlag* cancel) = 0;
  /// How it stands, in a few words; may be empty.
  virtual std::string note() const { return {}; }
  /// The steps that are left, as tokens of a prompt that take as long to be read. A guess.
  virtual double tokens_left() const = 0;

  /// All that a later run needs to go on with the same numbers, as JSON. restore() throws UserError
  /// where the file is of another model, of other settings or of another kind.
  virtual void save(const std::filesystem::path& file) const = 0;
  virtual void restore(const std::filesystem::path& file) = 0;
};

}  // namespace longhaul
