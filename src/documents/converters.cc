#include "documents/converters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/system_info.h"
#include "base/units.h"
#include "documents/filter_program.h"
#include "documents/html_text.h"
#include "documents/page_text.h"
#include "documents/pages_beyond.h"
#include "documents/rtf_text.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

using Problem = DocumentError::Problem;

constexpr DocumentFormat kPdf = {"PDF", "pdftotext", "poppler-utils", ""};
constexpr DocumentFormat kDocx = {"DOCX", "pandoc", "pandoc", "docx"};
constexpr DocumentFormat kOdt = {"ODT", "pandoc", "pandoc", "odt"};
constexpr DocumentFormat kEpub = {"EPUB", "pandoc", "pandoc", "epub"};
constexpr DocumentFormat kRtf = {"RTF", "", "", ""};
constexpr DocumentFormat kHtml = {"HTML", "", "", ""};

bool holds(std::string_view bytes, std::string_view part) {
  return bytes.find(part) != std::string_view::npos;
}

/// ODT and EPUB begin with an uncompressed entry that names the format. Every ZIP file contains the
/// names of its entries uncompressed.
const DocumentFormat* zipped(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 256);
  if (holds(begin, "mimetypeapplication/epub+zip")) return &kEpub;
  if (holds(begin, "mimetypeapplication/vnd.oasis.opendocument.text")) return &kOdt;
  return holds(bytes, "word/document.xml") ? &kDocx : nullptr;
}

/// PDF readers accept other bytes before the header, because mail programs and servers add them. A
/// text about PDF is not a PDF: it has no table of contents at its end and no binary bytes.
bool is_pdf(std::string_view bytes) {
  constexpr size_t kHeaderWithin = 1024, kTrailerWithin = 2048;
  if (bytes.starts_with("%PDF-")) return true;
  const size_t header = bytes.substr(0, kHeaderWithin).find("%PDF-");
  if (header == std::string_view::npos) return false;
  const std::string_view rest = bytes.substr(header + 5);
  if (rest.size() < 3 || std::isdigit(static_cast<unsigned char>(rest[0])) == 0 || rest[1] != '.')
    return false;
  const std::string_view end = bytes.substr(bytes.size() - std::min(bytes.size(), kTrailerWithin));
  if (holds(end, "startxref") || (holds(end, "trailer") && holds(end, "%%EOF"))) return true;
  std::string repaired;
  size_t broken = 0;
  repair_utf8(rest.substr(0, kTrailerWithin), repaired, &broken);
  return broken > 2;
}

bool has_html_ending(std::string_view name) {
  std::string lower(name.substr(name.size() - std::min<size_t>(name.size(), 6)));
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.ends_with(".html") || lower.ends_with(".htm") || lower.ends_with(".xhtml") ||
         lower.ends_with(".xht");
}

/// Detects a page by its first tag, since any text may contain a tag. A file with the ending of
/// HTML may begin with any tag.
bool is_html(std::string_view bytes, std::string_view name) {
  std::string begin(bytes.substr(0, 4096));
  for (char& c : begin) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string_view rest = begin;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  const auto skip_blanks = [&rest] {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n\f"), rest.size()));
  };
  skip_blanks();
  while (rest.starts_with("<!--") || rest.starts_with("<?xml")) {
    const std::string_view closing = rest.starts_with("<!--") ? "-->" : ">";
    const size_t end = rest.find(closing);
    if (end == std::string_view::npos) return has_html_ending(name);
    rest.remove_prefix(end + closing.size());
    skip_blanks();
  }
  for (const std::string_view tag :
       {"<!doctype html", "<html", "<head>", "<body", "<title>", "<meta "}) {
    if (rest.starts_with(tag)) return true;
  }
  if (!has_html_ending(name)) return false;
  const size_t tag = rest.find('<');
  return tag != std::string_view::npos && rest.find('>', tag) != std::string_view::npos;
}

std::vector<std::string> command_of(const DocumentFormat& format) {
  if (&format == &kPdf)
    return {"pdftotext", "-bbox-layout", "-enc", "UTF-8", "-eol", "unix", "-", "-"};
  // --sandbox: pandoc reads nothing but its input, whatever the document contains. -s keeps the
  // title.
  return {"pandoc", "--sandbox", "-f", std::string(format.from), "-t", "html", "-s", "--wrap=none"};
}

/// Bytes of memory that a converter may use: --memory-limit minus the memory of this process, or
/// half of the free memory.
size_t most_memory(size_t limit) {
  constexpr size_t kUsual = size_t{2} << 30, kLeast = size_t{32} << 20;
  if (limit == 0) return std::min(kUsual, available_memory_bytes() / 2);
  const size_t own = anonymous_resident_bytes();
  return std::max(kLeast, limit - std::min(limit, own));
}

bool is_blank_text(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f") == std::string_view::npos;
}

[[noreturn]] void refuse_password(const std::string& name, std::string_view format) {
  throw DocumentError(
      Problem::kEncrypted,
      fmt::format("{}: this {} needs a password; save a copy without one and give that", name,
                  format));
}

bool complains_of(const Filtered& result, std::initializer_list<std::string_view> words) {
  std::string lower = result.errors;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(words, [&](std::string_view word) { return holds(lower, word); });
}

[[noreturn]] void refuse(const DocumentFormat& format, const std::string& name,
                         const Filtered& result, const FilterLimits& limits) {
  using End = Filtered::End;
  if (result.end == End::kNotFound) {
    user_error("{}: this is {}, which {} turns into text: apt-get install {}", name, format.name,
               format.program, format.package);
  }
  if (result.end == End::kTooSlow) {
    throw DocumentError(Problem::kTooSlow,
                        fmt::format("{}: {} took more than {} (LONGHAUL_CONVERT_SECONDS)", name,
                                    format.program, format_seconds(limits.seconds)));
  }
  if (result.end == End::kTooMuch) {
    throw DocumentError(Problem::kTooLong, fmt::format("{}: {} makes more than {} of text", name,
                                                       format.program, format_bytes(limits.bytes)));
  }
  constexpr int kHaskellHeap = 251;  // exit status of pandoc when it is out of memory
  if (result.status == kHaskellHeap ||
      complains_of(result, {"out of memory", "bad_alloc", "heap exhausted", "cannot allocate",
                            "unable to commit"})) {
    throw DocumentError(Problem::kTooLarge,
                        fmt::format("{}: {} needs more than {} of memory for it (--memory-limit)",
                                    name, format.program, format_bytes(limits.memory)));
  }
  if (complains_of(result, {"incorrect password", "encrypted", "password"})) {
    refuse_password(name, format.name);
  }
  const std::string why = last_line(result.errors);
  user_error("{}: {} cannot read it{}{}", name, format.program, why.empty() ? "" : ": ", why);
}

std::string output_of(const DocumentFormat& format, std::string_view bytes,
                      const DocumentOptions& options, const std::string& name) {
  // Positions of words need many times the bytes of the words.
  constexpr size_t kBytesForAByte = 24;
  FilterLimits limits;
  limits.seconds = conversion_seconds();
  limits.memory = most_memory(options.memory);
  const size_t most = options.limit.bytes > limits.bytes / kBytesForAByte
                          ? limits.bytes
                          : options.limit.bytes * kBytesForAByte;
  limits.bytes = std::min(limits.bytes, most);
  Filtered result = filter_through(command_of(format), bytes, limits);
  if (result.end == Filtered::End::kTooMuch && most < FilterLimits().bytes) {
    refuse_longer_text(name, options.limit);
  }
  if (result.end != Filtered::End::kExited || result.status != 0)
    refuse(format, name, result, limits);
  return std::move(result.output);
}

/// Builds the text of a PDF from the output of pdftotext.
void take_pages(const std::string& output, const DocumentOptions& options, Document& document) {
  std::vector<PdfPage> pages = pages_with_boxes(output);
  if (pages.empty()) pages = plain_pages(output);
  const auto count = static_cast<int64_t>(pages.size());
  std::vector<int64_t> chosen;
  for (int64_t page = 1; page <= count; ++page) {
    if (options.pages.contains(page)) chosen.push_back(page);
  }
  if (chosen.empty() && count > 0) {
    user_error("--pages {}: {} has {}", options.pages.text(), document.name,
               counted(count, "page"));
  }
  warn_pages_beyond(options.pages, count, document.name);
  PageText text = text_of_pages(std::move(pages), options.pages);
  document.text = std::move(text.text);
  if (!options.pages.all() && is_blank_text(document.text)) {
    throw DocumentError(Problem::kNoText,
                        fmt::format("{}: pdftotext finds no text on {} of {}: a scanned page needs "
                                    "OCR first (ocrmypdf)",
                                    document.name, pages_in_words(chosen), count));
  }
  const std::string of_all = options.pages.all()
                                 ? counted(count, "page")
                                 : fmt::format("{} of {}", pages_in_words(chosen), count);
  document.made = fmt::format("PDF, {}, by pdftotext", of_all);
  if (!text.without.empty() && !is_blank_text(document.text)) {
    warn("{}: {} of {} {} no text: a scanned page needs OCR first (ocrmypdf)", document.name,
         pages_in_words(text.without), count, text.without.size() == 1 ? "has" : "have");
  }
}

void take_headed(HeadedText text, const DocumentFormat& format, Document& document) {
  document.text = std::move(text.text);
  document.headings = std::move(text.headings);
  document.made = format.program.empty() ? std::string(format.name)
                                         : fmt::format("{}, by {}", format.name, format.program);
}

}  // namespace

double conversion_seconds() {
  constexpr double kUsual = 300;
  const char* set = std::getenv("LONGHAUL_CONVERT_SECONDS");
  if (set == nullptr || *set == '\0') return kUsual;
  double seconds = 0;
  if (!parse_number(set, seconds) || !std::isfinite(seconds) || seconds <= 0) {
    user_error("LONGHAUL_CONVERT_SECONDS: {} is no number of seconds", printable(set));
  }
  return seconds;
}

const DocumentFormat* format_of(std::string_view bytes, std::string_view name) {
  if (is_pdf(bytes)) return &kPdf;
  if (bytes.starts_with("PK\3\4")) return zipped(bytes);
  if (bytes.starts_with("{\\rtf")) return &kRtf;
  return is_html(bytes, name) ? &kHtml : nullptr;
}

bool is_html_format(const DocumentFormat& format) { return &format == &kHtml; }

void convert_document(const DocumentFormat& format, std::string_view bytes,
                      const DocumentOptions& options, Document& document) {
  document.in_paragraphs = true;
  if (&format == &kPdf) {
    take_pages(output_of(format, bytes, options, document.name), options, document);
  } else if (&format == &kHtml) {
    take_headed(text_of_html(bytes), format, document);
  } else if (&format == &kRtf) {
    take_headed(text_of_rtf(bytes), format, document);
  } else {
    take_headed(text_of_html(output_of(format, bytes, options, document.name)), format, document);
  }
  if (is_blank_text(document.text)) {
    throw DocumentError(
        Problem::kNoText,
        fmt::format(
            "{}: {}{} no text in it{}", document.name, format.program,
            format.program.empty() ? "there is" : " finds",
            &format == &kPdf ? ": it needs OCR first, as scanned pages do (ocrmypdf)" : ""));
  }
}

}  // namespace longhaul
