#pragma once

namespace longhaul {

/// Returns the `git describe` of the program's sources, such as "c1d3045" or "c1d3045-dirty". The
/// result is empty if it is unknown. The function is generated during the build
/// (cmake/BuildId.cmake).
const char* build_id();

}  // namespace longhaul
