#pragma once
// Reasons why a thread may fail to start, for error messages.

#include <string>

namespace longhaul {

/// "; this user may have 64 threads (ulimit -u)", with one such part for each limit that is set.
std::string thread_limits();

}  // namespace longhaul
