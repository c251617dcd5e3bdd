#include "documents/documents.h"

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
#include "documents/converters.h"
#include "text/encodings.h"
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

void warn_broken(const std::string& where, size_t count, std::string_view encoding) {
  if (count == 0) return;
  warn("{}: not valid {}: {} broken sequence{} replaced by U+FFFD", where, encoding,
       with_commas(static_cast<int64_t>(count)), count == 1 ? " was" : "s were");
}

bool has_null_bytes(std::string_view text) {
  return text.substr(0, kSniffedBytes).find('\0') != std::string_view::npos;
}

struct OtherFormat {
  std::string_view begins;
  const char* what;
};

// Other formats that are given as texts by mistake, detected by their first bytes.
constexpr OtherFormat kOtherFormats[] = {
    {"PK\3\4", "a ZIP archive with no document (docx, odt, epub) in it"},
    {"\x1f\x8b", "a gzip file: gunzip it first"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
     "a file of an old Office: libreoffice --convert-to docx converts it"},
    {"\x89PNG\r\n", "a picture: text in it needs OCR first"},
    {"\xff\xd8\xff", "a picture: text in it needs OCR first"},
    {{"GGUF\1\0\0", 7}, "a model, not text"},  // the version follows the name
    {{"GGUF\2\0\0", 7}, "a model, not text"},
    {{"GGUF\3\0\0", 7}, "a model, not text"},
    {"LNGHULVK", "a session file: give it to --load"},
};

/// Western text in UTF-16 has zeros at every second byte, and hardly anywhere else. Null if the
/// text does not have this form.
const char* unmarked_utf16(std::string_view text) {
  const std::string_view begin = text.substr(0, kSniffedBytes);
  size_t zeros[2] = {0, 0};  // at even and at odd positions
  for (size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0' ? 1 : 0;
  const size_t side = zeros[1] > zeros[0] ? 1 : 0;
  constexpr size_t kTelling = 6;  // bytes; shorter texts are ambiguous
  if (begin.size() < kTelling) return nullptr;
  const bool zero_by_turns = zeros[side] > 0 && 10 * zeros[1 - side] <= zeros[side];
  if (!zero_by_turns || 3 * zeros[side] < begin.size()) return nullptr;
  return side == 0 ? "UTF-16BE" : "UTF-16LE";
}

/// Whether the text begins with the length of a JSON header, as 8 bytes of which the last are zero,
/// and the header.
bool is_safetensors(std::string_view text) {
  constexpr size_t kLength = 8, kLongestBytes = 4;  // the format allows headers of 100 MB
  if (!text.substr(std::min(kLength, text.size())).starts_with("{\"")) return false;
  return text.substr(kLongestBytes, kLength - kLongestBytes) == std::string_view("\0\0\0\0", 4);
}

void refuse_other_formats(std::string_view text, const std::string& name) {
  for (const OtherFormat& format : kOtherFormats) {
    if (text.starts_with(format.begins)) user_error("{}: this is {}", name, format.what);
  }
}

/// The encoding of a text with two bytes per character, and the size of its byte-order mark.
struct WideText {
  const char* encoding = nullptr;
  size_t mark = 0;
};
WideText wide_text(std::string_view bytes) {
  if (bytes.starts_with("\xff\xfe")) return {"UTF-16LE", 2};
  if (bytes.starts_with("\xfe\xff")) return {"UTF-16BE", 2};
  return {unmarked_utf16(bytes), 0};
}

/// Converts text in another encoding to UTF-8.
void decode(Document& document) {
  std::string& text = document.text;
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  size_t broken = 0;
  if (const WideText wide = wide_text(text); wide.encoding != nullptr) {
    text = to_utf8(std::string_view(text).substr(wide.mark), wide.encoding, broken);
    document.made = wide.encoding;
    warn_broken(document.name, broken, wide.encoding);
    return;
  }
  if (is_windows_1252(text)) {
    warn("{}: not valid UTF-8: read as Windows-1252", document.name);
    text = to_utf8(text, "CP1252", broken);
    document.made = "Windows-1252";
    warn_broken(document.name, broken, "Windows-1252");
    return;
  }
  if (has_null_bytes(text)) warn("{}: holds zero bytes and is probably no text", document.name);
  std::string repaired;
  repair_utf8(text, repaired, &broken);
  warn_broken(document.name, broken, "UTF-8");
  if (broken > 0) text = std::move(repaired);
}

std::string_view without_final_newlines(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Document read_document(const std::string& file, const TextLimit& limit) {
  Document document{
      .name = file == "-" ? "standard input" : file, .text = read_file(file, limit), .made = ""};
  const std::string_view bytes = document.text;
  if (is_safetensors(bytes)) user_error("{}: this is a model, not text", document.name);
  if (const DocumentFormat* format = format_of(bytes); format != nullptr) {
    document.text = convert_document(*format, document.name, bytes, limit, document.made);
  } else {
    refuse_other_formats(bytes, document.name);
  }
  decode(document);
  // A legacy encoding may grow to three times its size.
  if (document.text.size() > limit.bytes) refuse_longer_text(document.name, limit);
  return document;
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::vector<Document> read_documents(const std::vector<std::string>& files,
                                     const TextLimit& limit) {
  std::vector<Document> documents;
  TextLimit left = limit;
  for (const std::string& file : files) {
    documents.push_back(read_document(file, left));
    left.bytes -= documents.back().text.size();
    left.reason = "with the texts before it " + limit.reason;
  }
  return documents;
}

void warn_replaced(const std::string& where, size_t count) { warn_broken(where, count, "UTF-8"); }

std::vector<std::string> texts_of(const std::vector<Document>& documents) {
  std::vector<std::string> texts;
  for (const Document& document : documents) texts.push_back(document.text);
  return texts;
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
