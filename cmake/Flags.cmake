# Warnings are errors in ./check, in CI and in presets for development. They are not errors in the
# presets `release` and `cuda`, which users may build with newer compilers. LONGHAUL_SANITIZE sets
# sanitizers.
option(LONGHAUL_WERROR "Warnings are errors" ON)
add_library(lh_flags INTERFACE)
target_compile_options(lh_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                       $<$<BOOL:${LONGHAUL_WERROR}>:-Werror> -fopenmp-simd)

# GCC 13 and later also report references to what an argument holds, and standard containers that
# they inline, though both are right.
if(LONGHAUL_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(lh_flags INTERFACE -Wno-error=dangling-reference -Wno-error=array-bounds
                         -Wno-error=restrict -Wno-error=stringop-overflow -Wno-error=stringop-overread)
endif()

# Clang's reports of loops that it cannot vectorize, or of code that is unused at some
# instruction-set level, are no errors.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(lh_flags INTERFACE -Wno-pass-failed -Wno-unused-function)
endif()

# Products and sums are rounded one by one and char is signed, as on x86-64: models give the same
# replies there and at the generic level of x86-64.
if(LONGHAUL_ARCHITECTURE STREQUAL arm64)
  add_compile_options(-ffp-contract=off -fsigned-char)
endif()

if(LONGHAUL_SANITIZE)
  # Sanitized builds use -O1 and debug lines only, for stack traces. More of either costs build
  # time. GCC 12 reports the standard library's own code as uninitialized when it is instrumented.
  add_compile_options(-fsanitize=${LONGHAUL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1 -g1
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${LONGHAUL_SANITIZE})
endif()
if(LONGHAUL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=address,undefined)
endif()

# Linker options that make memory errors hard to exploit (docs/security.md). They leave no writable
# tables of functions and place the program at another address in every run. Sanitizers bring their
# own protection.
if(NOT LONGHAUL_SANITIZE AND NOT LONGHAUL_FUZZ)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
# Compiler options for the same purpose: canaries on the stack, probes of its guard page, checked
# copies, checked indices of standard containers. They apply to every room and to the program but
# not to kernels (docs/security.md gives the reason).
function(longhaul_hardened target)
  if(NOT LONGHAUL_SANITIZE AND NOT LONGHAUL_FUZZ)
    if(LONGHAUL_ARCHITECTURE STREQUAL arm64)
      set(branches -mbranch-protection=standard)
    else()
      set(branches -fcf-protection=full)
    endif()
    target_compile_options(${target} PRIVATE -fstack-protector-strong -fstack-clash-protection ${branches}
      $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS>)
  endif()
endfunction()

# For code that builds text. Its run time does not matter, and its build time falls by a third.
function(longhaul_light_optimisation target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# For code that runs once and only calls other code. Its build takes two thirds of the time with
# -O1.
function(longhaul_no_optimisation target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()
