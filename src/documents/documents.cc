#include "documents/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"
#include "base/system_info.h"
#include "base/units.h"
#include "documents/charsets.h"
#include "documents/converters.h"
#include "text/encodings.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kSniffedBytes = 4096;

/// PDF and Office files contain pictures and fonts, so they may be larger than their text.
size_t most_file_bytes(std::string_view begin, const DocumentOptions& options) {
  constexpr size_t kUsual = size_t{256} << 20;
  if (!begin.starts_with("%PDF-") && !begin.starts_with("PK\3\4")) return options.limit.bytes;
  const size_t memory = options.memory > 0 ? options.memory : available_memory_bytes();
  return std::max(options.limit.bytes, std::min(kUsual, memory / 4));
}

std::string read_all(std::FILE* stream, const std::string& name, const DocumentOptions& options) {
  std::string text;
  size_t got = 0;
  do {
    const size_t held = text.size();
    text.resize(held + kReadBytes);
    got = std::fread(text.data() + held, 1, kReadBytes, stream);
    text.resize(held + got);
    const size_t most = most_file_bytes(text, options);
    if (text.size() > most) {
      if (most == options.limit.bytes) refuse_longer_text(name, options.limit);
      user_error("{}: larger than {}", name, format_bytes(most));
    }
  } while (got == kReadBytes);
  if (std::ferror(stream) != 0) user_error("{}: {}", name, std::strerror(errno));
  return text;
}

std::string read_file(const std::string& file, const DocumentOptions& options) {
  if (file == "-") return read_all(stdin, "standard input", options);
  if (file.empty()) user_error("'': the name of a text is empty");
  if (is_folder(file)) user_error("{}: is a folder, not a text", file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  if (!stream) user_error("{}: {}", file, std::strerror(errno));
  return read_all(stream.get(), file, options);
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

// Files that are often mistaken for texts, by their first bytes.
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

/// The length of a JSON header, as 8 bytes of which the last are zero, followed by the header.
bool is_safetensors(std::string_view text) {
  constexpr size_t kLength = 8, kLongestBytes = 4;  // the format allows headers of 100 MB
  if (!text.substr(std::min(kLength, text.size())).starts_with("{\"")) return false;
  return text.substr(kLongestBytes, kLength - kLongestBytes) == std::string_view("\0\0\0\0", 4);
}

[[noreturn]] void refuse_format(const std::string& name, const char* what) {
  throw DocumentError(DocumentError::Problem::kUnsupported,
                      fmt::format("{}: this is {}", name, what));
}

void refuse_other_formats(std::string_view text, const std::string& name) {
  using namespace std::string_view_literals;
  // Office encrypts a DOCX inside a file of the old Office; names in it are UTF-16.
  constexpr std::string_view kOldOffice = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
  constexpr std::string_view kEncrypted = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0"sv;
  if (text.starts_with(kOldOffice) && text.find(kEncrypted) != std::string_view::npos) {
    user_error("{}: this DOCX needs a password; save a copy without one and give that", name);
  }
  for (const OtherFormat& format : kOtherFormats) {
    if (text.starts_with(format.begins)) refuse_format(name, format.what);
  }
}

/// Whether this system can read an encoding.
bool is_known_encoding(const std::string& encoding) {
  try {
    size_t broken = 0;
    to_utf8("", encoding.c_str(), broken);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// Decodes from `encoding` and records it in `made`.
void decode_from(const std::string& encoding, size_t mark, Document& document) {
  size_t broken = 0;
  document.text = to_utf8(std::string_view(document.text).substr(mark), encoding.c_str(), broken);
  document.made = encoding;
  warn_broken(document.name, broken, encoding);
}

/// Bytes that should be UTF-8, or that are in an undeclared encoding.
void decode_unmarked(Document& document) {
  std::string& text = document.text;
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (is_windows_1252(text)) {
    warn("{}: not valid UTF-8: read as Windows-1252", document.name);
    decode_from("CP1252", 0, document);
    document.made = "Windows-1252";
    return;
  }
  if (has_null_bytes(text)) warn("{}: holds zero bytes and is probably no text", document.name);
  size_t broken = 0;
  std::string repaired;
  repair_utf8(text, repaired, &broken);
  warn_broken(document.name, broken, "UTF-8");
  if (broken > 0) text = std::move(repaired);
}

/// The bytes of a page in the encoding that it declares.
void decode_html(Document& document) {
  const std::string declared =
      document.text.starts_with("\xef\xbb\xbf") ? "UTF-8" : declared_charset(document.text);
  if (declared.empty() || declared == "UTF-8" || declared == "utf-8")
    return decode_unmarked(document);
  if (!is_known_encoding(declared)) {
    warn("{}: declares the charset {}, which is unknown here", document.name, printable(declared));
    return decode_unmarked(document);
  }
  decode_from(declared, 0, document);
}

std::string_view without_final_newlines(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Document read_document(const std::string& file, const DocumentOptions& options) {
  return document_of(read_file(file, options), file == "-" ? "standard input" : file, options);
}

std::vector<std::string> document_formats() {
  return {"plain text", "PDF", "DOCX", "ODT", "EPUB", "HTML", "RTF"};
}

Document document_of(std::string bytes, const std::string& name, const DocumentOptions& options) {
  Document document;
  document.name = name;
  document.text = std::move(bytes);
  if (is_safetensors(document.text)) refuse_format(name, "a model, not text");
  const Charset wide = wide_charset(document.text);
  if (!wide.encoding.empty()) decode_from(wide.encoding, wide.mark, document);
  const DocumentFormat* format = format_of(document.text, document.name);
  if (format == nullptr) {
    refuse_other_formats(document.text, document.name);
    if (wide.encoding.empty()) decode_unmarked(document);
  } else {
    if (is_html_format(*format) && wide.encoding.empty()) decode_html(document);
    const std::string original = std::move(document.text);
    convert_document(*format, original, options, document);
    std::string repaired;
    size_t broken = 0;
    repair_utf8(document.text, repaired, &broken);
    if (broken > 0) document.text = std::move(repaired);
  }
  if (!options.pages.all() && (format == nullptr || format->name != "PDF")) {
    document.text = select_pages(document.text, options.pages, document.name);
  }
  // A legacy encoding may grow to three times its bytes.
  if (document.text.size() > options.limit.bytes) refuse_longer_text(document.name, options.limit);
  return document;
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::vector<Document> read_documents(const std::vector<std::string>& files,
                                     const DocumentOptions& options) {
  std::vector<Document> documents;
  DocumentOptions left = options;
  for (const std::string& file : files) {
    documents.push_back(read_document(file, left));
    left.limit.bytes -= documents.back().text.size();
    left.limit.reason = "with the texts before it " + options.limit.reason;
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
