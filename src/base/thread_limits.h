#pragma once
// Why a thread may not have started, for the message that says so.

#include <string>

namespace longhaul {

/// "; this user may have 64 threads (ulimit -u)", and so on for each limit that is set.
std::string thread_limits();

}  // namespace longhaul
