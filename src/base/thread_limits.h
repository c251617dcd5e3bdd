#pragma once
// Describes limits that can prevent a thread from starting, so that error messages can name them.

#include <string>

namespace longhaul {

/// Returns a text such as "; this user may have 64 threads (ulimit -u)". It has one part for each
/// limit that is set.
std::string thread_limits();

}  // namespace longhaul
