# longhaul_precompiled(TARGET OWNER [HEADER...]): precompiles the headers that most sources of
# TARGET include. OWNER is the target for which they are compiled. If OWNER is not TARGET, both need
# the same flags (position independence), and TARGET uses the precompiled header of OWNER. Kernels
# have none because each instruction set has flags of its own and because they include little. Only
# GCC precompiles. Clang, which the fuzz targets and clang-tidy use, parses the headers itself.
option(LONGHAUL_PRECOMPILED "Precompile the headers that most sources include" ON)
set(LH_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional>
    <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <utility> <vector>
    <fmt/format.h>)

function(longhaul_precompiled target owner)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")  # a room without sources
    return()
  endif()
  if(NOT LONGHAUL_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${LH_COMMON_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  if(CCACHE)  # ccache handles a precompiled header only with this flag
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
