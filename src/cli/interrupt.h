#pragma once
// Handles Ctrl-C. The first one requests that the running work stops. A second one ends the program
// at once.

#include "base/cancel.h"

namespace longhaul {

/// The handler is installed as long as the object exists. Only one object may exist at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  CancelFlag& flag();
  bool requested() { return flag().requested(); }
};

}  // namespace longhaul
