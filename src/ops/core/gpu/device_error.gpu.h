#pragma once
// Converts CUDA runtime errors to exceptions. Out of memory becomes std::bad_alloc, as on the host.
// Other errors name the failed call and the reason.

#include <stdexcept>

namespace longhaul::cuda {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `code` is a cudaError_t. Returns if it is cudaSuccess.
void check(int code, const char* what);

/// Checks the last kernel launch.
void check_launch(const char* kernel);

}  // namespace longhaul::cuda
