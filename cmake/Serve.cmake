# The server: src/http/ (sockets) and src/serve/ (scheduling and APIs). -DLONGHAUL_SERVE=OFF leaves
# both rooms out, and what they need.
option(LONGHAUL_SERVE "Build 'longhaul serve' (needs Boost 1.81 or newer, and OpenSSL)" ON)
if(LONGHAUL_SERVE)
  find_package(Boost 1.81 REQUIRED)
  find_package(OpenSSL REQUIRED)
else()
  set(LONGHAUL_LEFT_OUT http serve)
endif()

# Asio's and Beast's templates take half a minute of a compiler. -O1 halves that, and the speed of
# sockets does not depend on it. Every file that includes Asio has to see the same macros.
function(longhaul_server_flags)
  if(NOT LONGHAUL_SERVE)
    return()
  endif()
  target_include_directories(lh_http SYSTEM PUBLIC ${Boost_INCLUDE_DIRS})
  target_compile_definitions(lh_http PUBLIC BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY
                             BOOST_ERROR_CODE_HEADER_ONLY)
  longhaul_light_optimisation(lh_http)
  longhaul_light_optimisation(lh_serve)
  longhaul_embed_web(lh_serve)
  longhaul_precompiled(lh_serve lh_serve <nlohmann/json.hpp>)
  # With -O1 a request of 400 KiB takes 45 ms instead of 4.
  set_source_files_properties(src/serve/api/json_text.cc PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_UNITY_BUILD_INCLUSION ON
    SKIP_PRECOMPILE_HEADERS ON)
endfunction()
