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
  size_t memory = 0, free = 0;  ///< bytes
  int major = 0, minor = 0;     ///< compute capability
  int processors = 0;           ///< multiprocessors
  std::string trouble;          ///< reason why it is unusable; empty if usable
};

struct Devices {
  std::vector<DeviceInfo> found;
  std::string driver;   ///< description of the driver; empty: there is none
  std::string library;  ///< path of the matrix library; empty: not found
  std::string why;  ///< why no device is usable, and the places searched; empty if one is usable
};

/// Queries the machine again.
Devices find_devices();

/// Returns the path of the library for collectives between GPUs, or an empty path if it is not
/// found.
std::string find_collectives();

/// Opens a queue by name. "cpu" is the host. "cuda" or "cuda:N" is that GPU; throws UserError
/// naming the missing part. "cuda:N,M,..." means GPUs that share a model's heads
/// (base/communicator.h); the result is the first one's queue. "auto" is the first usable GPU, or
/// the host if there is none.
Queue open_device(std::string_view name);

}  // namespace longhaul
