#pragma once
// The devices of this machine that operations can run on.

#include <string>
#include <string_view>
#include <vector>

#include "base/queue.h"

namespace longhaul {

struct DeviceInfo {
  int number = 0;
  std::string name;             ///< as the driver gives it
  size_t memory = 0, free = 0;  ///< bytes
  int major = 0, minor = 0;     ///< compute capability
  int processors = 0;           ///< multiprocessors
  std::string trouble;          ///< why it cannot be used; empty: it can
};

struct Devices {
  std::vector<DeviceInfo> found;
  std::string driver;   ///< what is known of the driver; empty: there is none
  std::string library;  ///< where the library of matrix products was found; empty: nowhere
  std::string why;      ///< why no device can be used, and what was looked for; empty: one can
};

/// Looks at the machine anew.
Devices find_devices();

/// Where the library by which several GPUs work together was found; empty: nowhere.
std::string find_collectives();

/// "cpu": the host's queue; "cuda" or "cuda:N": that GPU's, or UserError that says what is missing;
/// "cuda:N,M,...": of GPUs that have a model's heads between them (base/team.h), the first one's;
/// "auto": the first GPU that can be used, else the host's.
Queue open_device(std::string_view name);

}  // namespace longhaul
