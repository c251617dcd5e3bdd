#pragma once
// Place is the location of memory or of work: the host or a device.

#include <cstdint>

namespace longhaul {

struct Place {
  int16_t device = -1;  ///< number of the device; below 0: the host
  bool host() const { return device < 0; }
  bool operator==(const Place&) const = default;
};

}  // namespace longhaul
