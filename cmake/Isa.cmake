# Each kernel source is compiled once per instruction-set level. Each object defines LH_ISA, the
# namespace that its symbols live in. src/ops/core/isa/isa.cc picks a level at run time. Such a
# source must not instantiate standard templates, because the linker may keep the copy that was
# compiled for a newer CPU and call it everywhere.
set(LH_ISA_LEVELS generic avx2 avx512 avx512_bf16 amx)
if(LONGHAUL_FUZZ OR LONGHAUL_ARCHITECTURE STREQUAL arm64)
  # Fuzz targets test parsers; other levels would take half their build time. The other levels are
  # those of x86-64.
  set(LH_ISA_LEVELS generic)
endif()
set(LH_FLAGS_generic "")
set(LH_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(LH_FLAGS_avx512 ${LH_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
                    -mavx512vnni -mavx512vbmi -mprefer-vector-width=512)
set(LH_FLAGS_avx512_bf16 ${LH_FLAGS_avx512} -mavx512bf16)
set(LH_FLAGS_amx ${LH_FLAGS_avx512_bf16} -mamx-tile -mamx-bf16 -mamx-int8)

# Unity.cmake explains ALONE.
function(longhaul_isa_sources target)
  cmake_parse_arguments(ISA "" "" "ALONE" ${ARGN})
  if(LH_ISA_LEVELS STREQUAL generic)
    target_compile_definitions(${target} PUBLIC LH_GENERIC_ONLY)
  endif()
  foreach(level ${LH_ISA_LEVELS})
    add_library(${target}_${level} OBJECT ${ISA_UNPARSED_ARGUMENTS})
    target_compile_definitions(${target}_${level} PRIVATE LH_ISA=${level} LH_ISA_${level}=1)
    target_compile_options(${target}_${level} PRIVATE ${LH_FLAGS_${level}} -fno-math-errno
                           -fno-trapping-math)
    # GCC 12 warns about its own intrinsics headers and about vectors as arguments of inlined
    # functions.
    target_compile_options(${target}_${level} PRIVATE -Wno-psabi
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized -Wno-maybe-uninitialized>)
    target_include_directories(${target}_${level} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target}_${level} PRIVATE lh_flags)
    longhaul_unity(${target}_${level} ${ISA_UNPARSED_ARGUMENTS} ALONE ${ISA_ALONE})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${level}>)
  endforeach()
endfunction()
