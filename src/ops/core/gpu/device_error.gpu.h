#pragma once
// What the CUDA runtime refuses becomes an exception: no memory is std::bad_alloc as on the host,
// anything else says which call failed and why.

#include <stdexcept>

namespace longhaul::cuda {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `code` is a cudaError_t. Returns when it is cudaSuccess.
void check(int code, const char* what);

/// The same of the last kernel launch.
void check_launch(const char* kernel);

}  // namespace longhaul::cuda
