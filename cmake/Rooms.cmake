# longhaul_room(NAME DEPENDS ... [ALONE ...]): library lh_NAME from src/NAME/**.cc. Files named
# *.isa.cc are compiled once per instruction-set level (Isa.cmake). Files named *.gpu.cc are
# compiled only in CUDA builds. A room without sources is header-only. Unity.cmake explains ALONE.
# The calls in the top CMakeLists.txt are the one list of rooms, bottom to top. Other CMake files read
# it from the global property LONGHAUL_ROOMS, tools/rooms.py reads the calls.
function(longhaul_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;ALONE" ${ARGN})
  if(name IN_LIST LONGHAUL_LEFT_OUT)  # Serve.cmake
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY LONGHAUL_ROOMS ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  set(isa_sources ${sources})
  list(FILTER isa_sources INCLUDE REGEX "\\.isa\\.cc$")
  list(FILTER sources EXCLUDE REGEX "\\.isa\\.cc$")
  # NAME.gpu.cc needs CUDA's headers. NAME.no_gpu.cc replaces it in a build without CUDA.
  if(LONGHAUL_CUDA)
    list(FILTER sources EXCLUDE REGEX "\\.no_gpu\\.cc$")
  else()
    list(FILTER sources EXCLUDE REGEX "\\.gpu\\.cc$")
  endif()
  if(NOT sources)
    add_library(lh_${name} INTERFACE)
    target_include_directories(lh_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    longhaul_link(lh_${name} INTERFACE ${ROOM_DEPENDS})
    return()
  endif()
  add_library(lh_${name} STATIC ${sources})
  target_include_directories(lh_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(lh_${name} PRIVATE lh_flags)
  longhaul_link(lh_${name} PUBLIC ${ROOM_DEPENDS})
  longhaul_hardened(lh_${name})
  longhaul_unity(lh_${name} ${sources} ALONE ${ROOM_ALONE})
  if(isa_sources)
    longhaul_isa_sources(lh_${name} ${isa_sources} ALONE ${ROOM_ALONE})
  endif()
endfunction()

# Finds libraries by name that Debian ships without a CMake package.
function(longhaul_link target scope)
  foreach(dep ${ARGN})
    if(dep STREQUAL "PCRE2")
      find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
      target_link_libraries(${target} ${scope} ${PCRE2_LIBRARY})
    elseif(dep STREQUAL "utf8proc")
      find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
      target_link_libraries(${target} ${scope} ${UTF8PROC_LIBRARY})
    elseif(dep STREQUAL "dnnl")
      find_package(dnnl REQUIRED)
      # OpenMP gives oneDNN its threads, which ops/core/gemm.cc limits to one. It is only linked
      # because our code has no pragmas. Without -fopenmp all rooms have the same flags and share
      # precompiled headers.
      find_package(OpenMP REQUIRED)
      target_link_libraries(${target} ${scope} DNNL::dnnl $<LINK_ONLY:OpenMP::OpenMP_CXX>)
    elseif(dep STREQUAL "curl")  # opened on first use; only its header is needed
      find_path(CURL_INCLUDE curl/curl.h REQUIRED)
      target_include_directories(${target} ${scope} ${CURL_INCLUDE})
      target_link_libraries(${target} ${scope} ${CMAKE_DL_LIBS})
    elseif(dep STREQUAL "zlib")
      find_library(ZLIB_LIBRARY z REQUIRED)
      target_link_libraries(${target} ${scope} ${ZLIB_LIBRARY})
    elseif(dep STREQUAL "xxhash")
      find_library(XXHASH_LIBRARY xxhash REQUIRED)
      target_link_libraries(${target} ${scope} ${XXHASH_LIBRARY})
    else()
      target_link_libraries(${target} ${scope} ${dep})
    endif()
  endforeach()
endfunction()
