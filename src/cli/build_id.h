#pragma once

namespace longhaul {

/// `git describe` of the sources that the program was built from ("c1d3045", "c1d3045-dirty");
/// empty where that was not known. Generated (cmake/BuildId.cmake).
const char* build_id();

}  // namespace longhaul
