#pragma once
// Location of memory and of work: the host, or a device by its number.

#include <cstdint>

namespace longhaul {

struct Place {
  int16_t device = -1;  ///< below 0: the host
  bool host() const { return device < 0; }
  bool operator==(const Place&) const = default;
};

}  // namespace longhaul
