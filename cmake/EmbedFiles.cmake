# longhaul_embed_web(TARGET): compiles the files of web/ into TARGET, each as it is and compressed by
# gzip, with the type that browsers expect and a hash of its contents (src/serve/web_files.h).
# As a script (cmake -P, with FILES and OUTPUT) this file writes that source.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(SET CMP0057 NEW)  # IN_LIST
  set(type_html "text/html; charset=utf-8")
  set(type_css "text/css; charset=utf-8")
  set(type_js "text/javascript; charset=utf-8")
  set(type_svg "image/svg+xml")
  find_program(GZIP gzip REQUIRED)

  # Sets `result` to the bytes of `file` as C++ numbers.
  function(bytes_of file result)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
    set(${result} "${bytes}" PARENT_SCOPE)
  endfunction()

  set(source "// Written by cmake/EmbedFiles.cmake.\n#include \"serve/web_files.h\"\n\nnamespace longhaul::serve {\nnamespace {\n\n")
  set(rows "")
  set(index 0)
  string(REPLACE "|" ";" files "${FILES}")
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    get_filename_component(ending ${file} LAST_EXT)
    string(SUBSTRING ${ending} 1 -1 ending)
    if(NOT DEFINED type_${ending})
      message(FATAL_ERROR "${file}: files of web/ are html, css, js or svg")
    endif()
    execute_process(COMMAND ${GZIP} -9nc ${file} OUTPUT_FILE ${OUTPUT}.gz COMMAND_ERROR_IS_FATAL ANY)
    file(SHA256 ${file} hash)
    string(SUBSTRING ${hash} 0 32 hash)
    bytes_of(${file} plain)
    bytes_of(${OUTPUT}.gz gzip)
    file(REMOVE ${OUTPUT}.gz)
    string(APPEND source "constexpr unsigned char kPlain${index}[] = {\n${plain}};\nconstexpr unsigned char kGzip${index}[] = {\n${gzip}};\n")
    string(APPEND rows "      {\"${name}\", \"${type_${ending}}\", \"\\\"${hash}\\\"\", text(kPlain${index}), text(kGzip${index})},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND source "
template <size_t N>
std::string_view text(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

}  // namespace

std::span<const WebFile> web_files() {
  static const WebFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace longhaul::serve
")
  file(WRITE ${OUTPUT} "${source}")
  return()
endif()

function(longhaul_embed_web target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/*.html ${CMAKE_SOURCE_DIR}/web/*.css
       ${CMAKE_SOURCE_DIR}/web/*.js ${CMAKE_SOURCE_DIR}/web/*.svg)
  string(REPLACE ";" "|" joined "${files}")
  set(output ${CMAKE_BINARY_DIR}/web_files.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFILES=${joined} -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    COMMENT "Embedding web/" VERBATIM)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${output})
endfunction()
