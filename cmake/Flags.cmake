# Warnings are errors in our own code; sanitizers come through LONGHAUL_SANITIZE.
add_library(lh_flags INTERFACE)
target_compile_options(lh_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -fopenmp-simd)

set(LONGHAUL_OPENMP ON)
if(LONGHAUL_SANITIZE)
  add_compile_options(-fsanitize=${LONGHAUL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LONGHAUL_SANITIZE})
  if(LONGHAUL_SANITIZE STREQUAL "thread")
    set(LONGHAUL_OPENMP OFF)  # libgomp is not instrumented: its barriers look like races
  endif()
endif()
if(LONGHAUL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
  set(LONGHAUL_OPENMP OFF)
endif()
