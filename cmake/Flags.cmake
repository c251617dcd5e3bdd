# Warnings are errors in our own code; sanitizers come through LONGHAUL_SANITIZE.
add_library(lh_flags INTERFACE)
target_compile_options(lh_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -fopenmp-simd)

# What clang cannot vectorize, or finds unused at some instruction-set level, is no mistake.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(lh_flags INTERFACE -Wno-pass-failed -Wno-unused-function)
endif()

if(LONGHAUL_SANITIZE)
  # -O1, and lines only for the stack traces: what more there is to have is paid for in build time.
  # GCC 12 takes the library's own code for uninitialized when it is instrumented.
  add_compile_options(-fsanitize=${LONGHAUL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1 -g1
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${LONGHAUL_SANITIZE})
endif()
if(LONGHAUL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=address,undefined)
endif()

# What makes a mistake with memory hard to use (docs/security.md). Linking: no writable tables of
# functions, a place in memory that differs from run to run. Sanitizers bring their own.
if(NOT LONGHAUL_SANITIZE AND NOT LONGHAUL_FUZZ)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
# Compiling: canaries on the stack, probes of its guard page, checked copies, indices of standard
# containers checked. For every room and the program, not for kernels (docs/security.md says why).
function(longhaul_hardened target)
  if(NOT LONGHAUL_SANITIZE AND NOT LONGHAUL_FUZZ)
    target_compile_options(${target} PRIVATE -fstack-protector-strong -fstack-clash-protection
      -fcf-protection=full
      $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS>)
  endif()
endfunction()

# For what puts text together: its run time is nothing, its build time a third less.
function(longhaul_light_optimisation target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# For what runs once and only calls others: two thirds of the build time that -O1 takes.
function(longhaul_no_optimisation target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()
