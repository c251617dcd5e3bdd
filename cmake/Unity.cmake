# longhaul_unity(TARGET SOURCE... [ALONE NAME...]): compiles the sources of a target eight at a time,
# as one, so that headers and standard templates are compiled once for all eight: half the CPU time
# of a build from nothing. What is compiled without much optimisation (Flags.cmake) is so nearly
# nothing but headers and templates that sixteen at a time take another third less. The preset `dev` compiles each source alone, which is less to wait for
# after an edit, and which clang-tidy asks for.
# ALONE: sources without their ending whose own names (of constants, helpers) others of the target
# have too. The compiler says so: "redefinition of ... {anonymous}::...".
option(LONGHAUL_UNITY "Compile sources in batches" OFF)

function(longhaul_unity target)
  cmake_parse_arguments(UNITY "" "" "ALONE" ${ARGN})
  if(NOT LONGHAUL_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)  # by eights, unless the target says otherwise
  foreach(source ${UNITY_UNPARSED_ARGUMENTS})
    foreach(name ${UNITY_ALONE})
      if(source MATCHES "/${name}\\.cc$")
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
  endforeach()
endfunction()
