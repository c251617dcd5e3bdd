#pragma once
// Handles Ctrl-C. The first Ctrl-C sets a flag, so that the running work stops at the next step.
// The second one ends the program at once.

#include "base/cancel.h"

namespace longhaul {

/// Handles Ctrl-C as long as the object exists. Only one object may exist at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  CancelFlag& flag();
  bool requested() { return flag().requested(); }
  /// The first Ctrl-C writes this line to standard error. Null: it writes nothing. `line` must
  /// outlive this object.
  void announce(const char* line);
};

}  // namespace longhaul
