#pragma once
// Converts CUDA runtime errors to exceptions. An out-of-memory error becomes std::bad_alloc, as on
// the host. The message of any other error names the failed call and the reason.

#include <stdexcept>

namespace longhaul::cuda {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws if `code`, a cudaError_t, is not cudaSuccess. `what` is the name of the CUDA call that
/// returned it.
void check(int code, const char* what);

/// Throws if the last kernel launch failed. `kernel` is the name of the kernel for the error
/// message.
void check_launch(const char* kernel);

}  // namespace longhaul::cuda
