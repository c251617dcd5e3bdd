#pragma once
// Location of memory or of work, which is the host or a device.

#include <cstdint>

namespace longhaul {

struct Place {
  int16_t device = -1;  ///< below 0: the host
  bool host() const { return device < 0; }
  bool operator==(const Place&) const = default;
};

}  // namespace longhaul
