#pragma once
// The user's kind of fault, without the formatting of base/error.h, which CUDA's compiler cannot
// read.

#include <stdexcept>

namespace longhaul {

/// Something the user can put right: a file, a key, a flag, a value. `what()` is one line that
/// names it and the value found.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace longhaul
