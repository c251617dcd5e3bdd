#pragma once
// The type of user errors, without the formatting of base/error.h, which CUDA's compiler cannot
// compile.

#include <stdexcept>

namespace longhaul {

/// An error that the user can correct: a file, a key, a flag, a value. `what()` is one line with
/// its name and the value found.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace longhaul
