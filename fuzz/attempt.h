#pragma once
// Requirements of every target on the tested code: it works as documented, or refuses the input
// with a one-line error.

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace longhaul::fuzzing {

/// Reports a finding if `holds` is false.
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
