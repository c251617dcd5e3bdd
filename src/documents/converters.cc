#include "documents/converters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/units.h"
#include "documents/filter_program.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr DocumentFormat kPdf = {"PDF", "pdftotext", "poppler-utils", ""};
constexpr DocumentFormat kDocx = {"DOCX", "pandoc", "pandoc", "docx"};
constexpr DocumentFormat kOdt = {"ODT", "pandoc", "pandoc", "odt"};
constexpr DocumentFormat kEpub = {"EPUB", "pandoc", "pandoc", "epub"};
constexpr DocumentFormat kRtf = {"RTF", "pandoc", "pandoc", "rtf"};
constexpr DocumentFormat kHtml = {"HTML", "pandoc", "pandoc", "html"};

bool holds(std::string_view bytes, std::string_view part) {
  return bytes.find(part) != std::string_view::npos;
}

/// ODT and EPUB declare themselves in an uncompressed first entry; every ZIP file contains the
/// names of its entries in plain text.
const DocumentFormat* zipped(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 256);
  if (holds(begin, "mimetypeapplication/epub+zip")) return &kEpub;
  if (holds(begin, "mimetypeapplication/vnd.oasis.opendocument.text")) return &kOdt;
  return holds(bytes, "word/document.xml") ? &kDocx : nullptr;
}

/// Whether the text is a page according to its first words; a tag somewhere in the text is not
/// enough.
bool is_html(std::string_view bytes) {
  std::string begin(bytes.substr(0, 1024));
  for (char& c : begin) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string_view rest = begin;
  const auto skip_blanks = [&rest] {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
  };
  skip_blanks();
  while (rest.starts_with("<!--") || rest.starts_with("<?xml")) {
    const size_t end = rest.find('>');
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
    skip_blanks();
  }
  return rest.starts_with("<!doctype html") || rest.starts_with("<html");
}

std::vector<std::string> command_of(const DocumentFormat& format) {
  if (&format == &kPdf) return {"pdftotext", "-q", "-enc", "UTF-8", "-eol", "unix", "-", "-"};
  // --sandbox: the program reads only its input, whatever the document requests.
  return {"pandoc", "--sandbox", "-f", std::string(format.from), "-t", "plain", "--wrap=none"};
}

double most_seconds() {
  constexpr double kUsual = 300;
  const char* set = std::getenv("LONGHAUL_CONVERT_SECONDS");
  if (set == nullptr || *set == '\0') return kUsual;
  double seconds = 0;
  if (!parse_number(set, seconds) || !std::isfinite(seconds) || seconds <= 0) {
    user_error("LONGHAUL_CONVERT_SECONDS: {} is no number of seconds", printable(set));
  }
  return seconds;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f") == std::string_view::npos;
}

/// Pages end in form feeds. Begins each page that contains text with its number. Returns the number
/// of pages.
int64_t number_pages(std::string& text) {
  std::string numbered;
  int64_t page = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\f', begin), text.size());
    const std::string_view body = std::string_view(text).substr(begin, end - begin);
    ++page;
    if (!is_blank(body)) {
      const size_t last = body.find_last_not_of(" \t\r\n");
      numbered += fmt::format("{}[page {}]\n{}\n", numbered.empty() ? "" : "\n", page,
                              body.substr(0, last + 1));
    }
    begin = end + 1;
  }
  text = std::move(numbered);
  return page;
}

[[noreturn]] void refuse(const DocumentFormat& format, const std::string& name,
                         const Filtered& result, double seconds) {
  using End = Filtered::End;
  if (result.end == End::kNotFound) {
    user_error("{}: this is {}, which {} turns into text: apt-get install {}", name, format.name,
               format.program, format.package);
  }
  if (result.end == End::kTooSlow) {
    user_error("{}: {} took more than {} (LONGHAUL_CONVERT_SECONDS)", name, format.program,
               format_seconds(seconds));
  }
  if (result.end == End::kTooMuch) {
    user_error("{}: {} makes more than {} of text", name, format.program,
               format_bytes(FilterLimits().bytes));
  }
  const std::string why = last_line(result.errors);
  user_error("{}: {} cannot read it{}{}", name, format.program, why.empty() ? "" : ": ", why);
}

}  // namespace

const DocumentFormat* format_of(std::string_view bytes) {
  if (bytes.starts_with("%PDF-")) return &kPdf;
  if (bytes.starts_with("PK\3\4")) return zipped(bytes);
  if (bytes.starts_with("{\\rtf")) return &kRtf;
  return is_html(bytes) ? &kHtml : nullptr;
}

std::string convert_document(const DocumentFormat& format, const std::string& name,
                             std::string_view bytes, const TextLimit& limit, std::string& made) {
  FilterLimits limits;
  limits.seconds = most_seconds();
  limits.bytes = std::min(limits.bytes, limit.bytes);
  Filtered result = filter_through(command_of(format), bytes, limits);
  if (&format == &kHtml && result.end == Filtered::End::kNotFound) {
    warn("{}: this is HTML, read with its tags; pandoc (apt-get install pandoc) would remove them",
         name);
    return std::string(bytes);
  }
  if (result.end == Filtered::End::kTooMuch && limits.bytes == limit.bytes) {
    refuse_longer_text(name, limit);
  }
  if (result.end != Filtered::End::kExited || result.status != 0) {
    refuse(format, name, result, limits.seconds);
  }
  made = fmt::format("{}, by {}", format.name, format.program);
  if (&format == &kPdf) {
    const int64_t pages = number_pages(result.output);
    made = fmt::format("{}, {}, by {}", format.name, counted(pages, "page"), format.program);
  }
  if (is_blank(result.output)) {
    user_error("{}: {} finds no text in it{}", name, format.program,
               &format == &kPdf ? "; a scanned PDF needs OCR first (ocrmypdf)" : "");
  }
  return std::move(result.output);
}

}  // namespace longhaul
