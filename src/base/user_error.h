#pragma once
// Defines the type of user errors. It is separate from base/error.h, because CUDA's compiler cannot
// compile the formatting functions of that header.

#include <stdexcept>

namespace longhaul {

/// An error that the user can correct, in a file, a key, a flag or a value. `what()` is one line
/// that names the cause and the invalid value.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace longhaul
