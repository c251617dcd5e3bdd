#include "cli/document_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/paths.h"
#include "documents/converters.h"
#include "text/shell_word.h"

namespace longhaul {
namespace {

constexpr std::string_view kDocumentEndings[] = {
    ".pdf", ".docx", ".odt", ".epub", ".html", ".htm", ".xhtml", ".rtf", ".txt", ".text", ".md"};

std::string first_bytes(const std::string& file) {
  std::string bytes(4096, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  return bytes;
}

}  // namespace

bool is_document_file(const std::string& word) {
  if (!is_file(word)) return false;
  const std::string begin = first_bytes(word);
  if (begin.starts_with("GGUF")) return false;
  if (format_of(begin, word) != nullptr) return true;
  std::string ending = std::filesystem::path(word).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::find(kDocumentEndings, ending) != std::end(kDocumentEndings);
}

std::string document_advice(const std::string& word) {
  return fmt::format("'longhaul run -f {} -p QUESTION' asks about it", shell_word(word));
}

}  // namespace longhaul
