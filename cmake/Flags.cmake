# Warnings are errors in our own code; sanitizers come through LONGHAUL_SANITIZE.
add_library(lh_flags INTERFACE)
target_compile_options(lh_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -fopenmp-simd)

if(LONGHAUL_SANITIZE)
  add_compile_options(-fsanitize=${LONGHAUL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LONGHAUL_SANITIZE})
endif()
if(LONGHAUL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
