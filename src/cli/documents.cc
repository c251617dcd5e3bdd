#include "cli/documents.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "text/shell_word.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kSniffedBytes = 4096;

std::string read_all(std::FILE* stream, const std::string& name, const TextLimit& limit) {
  std::string text;
  size_t got = 0;
  do {
    const size_t held = text.size();
    text.resize(held + kReadBytes);
    got = std::fread(text.data() + held, 1, kReadBytes, stream);
    text.resize(held + got);
    if (text.size() > limit.bytes) refuse_longer_text(name, limit);
  } while (got == kReadBytes);
  if (std::ferror(stream) != 0) user_error("{}: {}", name, std::strerror(errno));
  return text;
}

std::string read_file(const std::string& file, const TextLimit& limit) {
  if (file == "-") return read_all(stdin, "standard input", limit);
  if (file.empty()) user_error("'': the name of a text is empty");
  if (is_folder(file)) user_error("{}: is a folder, not a text", file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  if (!stream) user_error("{}: {}", file, std::strerror(errno));
  return read_all(stream.get(), file, limit);
}

bool has_null_bytes(std::string_view text) {
  return text.substr(0, kSniffedBytes).find('\0') != std::string_view::npos;
}

struct OtherFormat {
  std::string_view begins;
  const char* what;
  const char* make_text;  ///< the command; {} is the file
};

// What people take for a text, by its first bytes.
constexpr OtherFormat kOtherFormats[] = {
    {"%PDF-", "a PDF, not text", "pdftotext {} text.txt"},
    {"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 {} > text.txt"},
    {"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 {} > text.txt"},
    {"PK\3\4", "a ZIP archive (docx, odt, epub), not text", "pandoc -t plain {} -o text.txt"},
    {"{\\rtf", "RTF, not plain text", "pandoc -f rtf -t plain {} -o text.txt"},
    {"\x1f\x8b", "a gzip file", "gunzip -c {} > text.txt"},
    {{"GGUF\1\0\0", 7}, "a model, not text", nullptr},  // behind the name stands its version
    {{"GGUF\2\0\0", 7}, "a model, not text", nullptr},
    {{"GGUF\3\0\0", 7}, "a model, not text", nullptr},
    {"LNGHULVK", "a session file: give it to --load", nullptr},
};

constexpr OtherFormat kSafetensors = {"", "a model, not text", nullptr};

// UTF-16 whose zero bytes are the first of their pairs, and the second.
constexpr OtherFormat kUnmarkedUtf16[] = {
    {"", "UTF-16 without a byte-order mark", "iconv -f UTF-16BE -t UTF-8 {} > text.txt"},
    {"", "UTF-16 without a byte-order mark", "iconv -f UTF-16LE -t UTF-8 {} > text.txt"},
};

std::string name_of_document(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

[[noreturn]] void refuse(const OtherFormat& format, const std::string& file) {
  const std::string name = name_of_document(file);
  if (format.make_text == nullptr) user_error("{}: this is {}", name, format.what);
  user_error("{}: this is {}; convert it first: {}", name, format.what,
             fmt::format(fmt::runtime(format.make_text), file == "-" ? "FILE" : shell_word(file)));
}

/// Western text in UTF-16 is zero at every second byte, and hardly anywhere else. Null where a text
/// is not.
const OtherFormat* unmarked_utf16(std::string_view text) {
  const std::string_view begin = text.substr(0, kSniffedBytes);
  size_t zeros[2] = {0, 0};  // at even and at odd places
  for (size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0' ? 1 : 0;
  const size_t side = zeros[1] > zeros[0] ? 1 : 0;
  constexpr size_t kTelling = 6;  // bytes; fewer may be anything
  if (begin.size() < kTelling) return nullptr;
  const bool zero_by_turns = zeros[side] > 0 && 10 * zeros[1 - side] <= zeros[side];
  return zero_by_turns && 3 * zeros[side] >= begin.size() ? &kUnmarkedUtf16[side] : nullptr;
}

/// The length of a header in JSON, as 8 bytes of which the last are zero, and the header.
bool is_safetensors(std::string_view text) {
  constexpr size_t kLength = 8, kLongestBytes = 4;  // the format allows headers of 100 MB
  if (!text.substr(std::min(kLength, text.size())).starts_with("{\"")) return false;
  return text.substr(kLongestBytes, kLength - kLongestBytes) == std::string_view("\0\0\0\0", 4);
}

void refuse_other_formats(std::string_view text, const std::string& file) {
  if (is_safetensors(text)) refuse(kSafetensors, file);  // its length may look like another's mark
  for (const OtherFormat& format : kOtherFormats) {
    if (text.starts_with(format.begins)) refuse(format, file);
  }
  if (const OtherFormat* format = unmarked_utf16(text); format != nullptr) refuse(*format, file);
  const std::string name = name_of_document(file);
  if (has_null_bytes(text)) warn("{}: holds zero bytes and is probably no text", name);
  if (text.empty()) warn("{}: is empty", name);
}

std::string_view without_final_newlines(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string read_document(const std::string& file, const TextLimit& limit) {
  std::string text = read_file(file, limit);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  refuse_other_formats(text, file);
  std::string repaired;
  size_t replaced = 0;
  repair_utf8(text, repaired, &replaced);
  warn_replaced(name_of_document(file), replaced);
  if (replaced == 0) return text;
  return repaired;
}

void warn_replaced(const std::string& where, size_t count) {
  if (count == 0) return;
  warn("{}: not valid UTF-8: {} broken sequence{} replaced by U+FFFD", where,
       with_commas(static_cast<int64_t>(count)), count == 1 ? " was" : "s were");
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
