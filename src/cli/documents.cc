#include "cli/documents.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kSniffedBytes = 4096;

std::string read_all(std::FILE* stream, const std::string& name) {
  std::string text;
  size_t got = 0;
  do {
    const size_t held = text.size();
    text.resize(held + kReadBytes);
    got = std::fread(text.data() + held, 1, kReadBytes, stream);
    text.resize(held + got);
  } while (got == kReadBytes);
  if (std::ferror(stream) != 0) user_error("{}: {}", name, std::strerror(errno));
  return text;
}

std::string read_file(const std::string& file) {
  if (file == "-") return read_all(stdin, "standard input");
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) user_error("{}: is a folder, not a text", file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  if (!stream) user_error("{}: {}", file, std::strerror(errno));
  return read_all(stream.get(), file);
}

bool has_null_bytes(std::string_view text) {
  return text.substr(0, kSniffedBytes).find('\0') != std::string_view::npos;
}

void refuse_other_formats(std::string_view text, const std::string& file) {
  const std::string name = file == "-" ? "standard input" : file;
  if (text.starts_with("%PDF-")) {
    user_error("{}: this is a PDF, not text; convert it first: pdftotext {} text.txt", name,
               file == "-" ? "FILE.pdf" : file);
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    user_error("{}: this is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 {} > text.txt", name,
               file == "-" ? "FILE" : file);
  }
  if (has_null_bytes(text)) warn("{}: holds zero bytes and is probably no text", name);
  if (text.empty()) warn("{}: is empty", name);
}

std::string_view without_final_newlines(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string read_document(const std::string& file) {
  std::string text = read_file(file);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  refuse_other_formats(text, file);
  return text;
}

void warn_replaced(size_t count) {
  if (count == 0) return;
  warn("the prompt is not valid UTF-8: {} broken sequence{} replaced by U+FFFD", count,
       count == 1 ? " was" : "s were");
}

std::string join_documents(const std::vector<std::string>& documents, const std::string& question) {
  std::string text;
  for (const std::string& document : documents) {
    const std::string_view part = without_final_newlines(document);
    if (part.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text += part;
  }
  if (!text.empty() && !question.empty()) text += "\n\n";
  return text + question;
}

}  // namespace longhaul
