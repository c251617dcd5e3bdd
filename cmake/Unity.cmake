# longhaul_unity(TARGET SOURCE... [ALONE NAME...]): compiles the sources of a target eight at a time
# as one. Headers and standard templates are then compiled once for all eight, which halves the CPU
# time of a build from scratch. Targets with little optimisation (Flags.cmake) consist almost only
# of headers and templates, so batches of sixteen save another third. The preset `dev` compiles each
# source alone. That is faster after an edit, and clang-tidy needs it.
# ALONE lists sources, without their ending, whose own names (of constants, helpers) other sources
# of the target use too. The compiler reports such a conflict as "redefinition of ...
# {anonymous}::...".
option(LONGHAUL_UNITY "Compile sources in batches" OFF)

function(longhaul_unity target)
  cmake_parse_arguments(UNITY "" "" "ALONE" ${ARGN})
  if(NOT LONGHAUL_UNITY)
    return()
  endif()
  # Eight at a time, unless the target sets another number.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  foreach(source ${UNITY_UNPARSED_ARGUMENTS})
    foreach(name ${UNITY_ALONE})
      if(source MATCHES "/${name}\\.cc$")
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
  endforeach()
endfunction()
