#pragma once

namespace longhaul {

/// `git describe` of the program's sources ("c1d3045", "c1d3045-dirty"); empty if unknown.
/// Generated (cmake/BuildId.cmake).
const char* build_id();

}  // namespace longhaul
