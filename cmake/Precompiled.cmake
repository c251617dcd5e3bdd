# longhaul_precompiled(TARGET OWNER [HEADER...]): the headers that most sources of TARGET read, parsed
# once. OWNER is the target that they are compiled for; where that is another one than TARGET it has
# to have the same flags (position independence), and its precompiled header is used again.
# Kernels have none: each instruction set has flags of its own, and they include little.
# GCC only. Clang, which the fuzz targets and clang-tidy use, reads the headers themselves.
option(LONGHAUL_PRECOMPILED "Precompile the headers that most sources include" ON)
set(LH_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional>
    <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <utility> <vector>
    <fmt/format.h>)

function(longhaul_precompiled target owner)
  if(NOT LONGHAUL_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${LH_COMMON_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  if(CCACHE)  # which sees through a precompiled header only with this
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
