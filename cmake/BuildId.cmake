# longhaul_build_id(TARGET): defines for TARGET the function that src/cli/build_id.h declares. Every
# build looks the id up, but the source changes and TARGET is linked again only when the id changes.
# As a script (cmake -P, with SOURCE and OUTPUT) this file writes that source.
if(CMAKE_SCRIPT_MODE_FILE)
  set(id "")
  find_program(GIT git)
  # A copy without a repository of its own must not use the id of a repository around it.
  if(GIT AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty
                    OUTPUT_VARIABLE id OUTPUT_STRIP_TRAILING_WHITESPACE
                    ERROR_QUIET RESULT_VARIABLE failed)
    if(failed OR NOT id MATCHES "^[-+._/A-Za-z0-9]+$")
      set(id "")
    endif()
  endif()
  set(text "#include \"cli/build_id.h\"\n\nnamespace longhaul {\n\nconst char* build_id() { return \"${id}\"; }\n\n}  // namespace longhaul\n")
  set(before "")
  if(EXISTS "${OUTPUT}")
    file(READ "${OUTPUT}" before)
  endif()
  if(NOT text STREQUAL before)
    file(WRITE "${OUTPUT}" "${text}")
  endif()
  return()
endif()

function(longhaul_build_id target)
  set(output ${CMAKE_BINARY_DIR}/generated/build_id.cc)
  add_custom_target(longhaul_build_id
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${output}
            -P ${CMAKE_SOURCE_DIR}/cmake/BuildId.cmake
    BYPRODUCTS ${output}
    COMMENT "Asking git which sources these are" VERBATIM)
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} longhaul_build_id)
endfunction()
