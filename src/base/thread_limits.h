#pragma once
// Describes limits because of which a thread may fail to start, for error messages.

#include <string>

namespace longhaul {

/// Returns a text such as "; this user may have 64 threads (ulimit -u)", with one part for each
/// limit that is set.
std::string thread_limits();

}  // namespace longhaul
