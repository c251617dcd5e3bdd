#pragma once
// Lists the files of the web page (web/). cmake/EmbedFiles.cmake embeds them in the program.

#include <cstddef>
#include <span>
#include <string_view>

namespace longhaul::serve {

struct WebFile {
  std::string_view name, type;
  std::string_view etag;  ///< hash of the contents, in quotation marks
  std::string_view plain, gzip;
};

std::span<const WebFile> web_files();

}  // namespace longhaul::serve
