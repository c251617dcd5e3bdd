#pragma once
// What every target asks of code under test: it does as it says, or refuses in one line.

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace longhaul::fuzzing {

/// A finding when it does not hold.
inline void check(bool holds) {
  if (!holds) std::abort();
}

template <class Action>
void attempt(Action&& action) {
  try {
    action();
  } catch (const UserError& error) {
    check(std::strchr(error.what(), '\n') == nullptr);
  }
}

}  // namespace longhaul::fuzzing
