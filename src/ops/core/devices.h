#pragma once
// Finds the devices of this machine that can run operations.

#include <string>
#include <string_view>
#include <vector>

#include "base/queue.h"

namespace longhaul {

struct DeviceInfo {
  int number = 0;
  std::string name;             ///< as reported by the driver
  size_t memory = 0, free = 0;  ///< total and free device memory in bytes
  int major = 0, minor = 0;     ///< compute capability, such as 9.0
  int processors = 0;           ///< number of streaming multiprocessors
  std::string trouble;          ///< reason why the device cannot be used; empty if it can be used
};

struct Devices {
  std::vector<DeviceInfo> found;
  std::string driver;   ///< description of the driver; empty if there is no driver
  std::string library;  ///< path of the matrix library; empty if it was not found
  /// Reason why no device can be used, and the places that were searched. Empty if at least one
  /// device can be used.
  std::string why;
};

/// Looks for devices. Results are not cached.
Devices find_devices();

/// Returns the path of NCCL, the library for collective operations between GPUs. Returns an empty
/// path if NCCL is not found.
std::string find_collectives();

/// Returns a queue for the named device. "cpu" means the host. "cuda" means GPU 0, and "cuda:N"
/// means GPU N. "cuda:N,M,..." means several GPUs that share a model's heads (base/communicator.h);
/// the function returns the queue of the first one. "auto" means the first usable GPU, or the host
/// if there is none. Throws UserError with the reason if the named device cannot be used.
Queue open_device(std::string_view name);

}  // namespace longhaul
