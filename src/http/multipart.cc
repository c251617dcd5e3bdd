#include "http/multipart.h"

#include <algorithm>
#include <optional>

namespace longhaul::http {
namespace {

constexpr std::string_view kFormType = "multipart/form-data";
constexpr size_t kMostParts = 64, kLongestPartHeader = 8 << 10, kLongestBoundary = 70;

std::string_view trim_blanks(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// A value at the front of `text`: a quoted string, in which a backslash escapes a quote, or the
/// text up to the next semicolon. It is removed from `text`.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const size_t end = std::min(text.find(';'), text.size());
    value = trim_blanks(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    if (escapes) ++i;
    value += text[i];
  }
  return std::nullopt;
}

/// The parameter `name` of a field such as `form-data; name="a"; filename="b"`.
std::optional<std::string> field_parameter(std::string_view field, std::string_view name) {
  size_t semicolon = field.find(';');
  while (semicolon != std::string_view::npos) {
    field.remove_prefix(semicolon + 1);
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view found = trim_blanks(field.substr(0, equals));
    field = field.substr(equals + 1);
    while (field.starts_with(' ') || field.starts_with('\t')) field.remove_prefix(1);
    const auto value = take_value(field);
    if (!value) return std::nullopt;
    if (equal_but_case(found, name)) return value;
    semicolon = field.find(';');
  }
  return std::nullopt;
}

/// Reads the header of a part. Returns false if it does not name the part.
bool read_part_header(std::string_view header, FormPart& part) {
  while (!header.empty()) {
    const size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(header.size(), end + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    if (!equal_but_case(line.substr(0, colon), "Content-Disposition")) continue;
    const std::string_view value = trim_blanks(line.substr(colon + 1));
    if (!equal_but_case(trim_blanks(value.substr(0, value.find(';'))), "form-data")) return false;
    const auto name = field_parameter(value, "name");
    if (!name) return false;
    part.name = *name;
    if (const auto filename = field_parameter(value, "filename")) {
      part.filename = *filename;
      part.is_file = true;
    }
    return true;
  }
  return false;
}

FormBody unreadable(std::string problem) { return {{}, std::move(problem)}; }

}  // namespace

bool is_upload(const HttpRequest& request) {
  const std::string_view type = request.field("Content-Type");
  return equal_but_case(trim_blanks(type.substr(0, type.find(';'))), kFormType);
}

FormBody read_form(std::string_view content_type, std::string_view body) {
  const auto boundary = field_parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kLongestBoundary) {
    return unreadable("the Content-Type names no boundary of 1 to 70 characters");
  }
  const std::string first = "--" + *boundary, next = "\r\n--" + *boundary;
  size_t at = 0;
  if (!body.starts_with(first)) {
    at = body.find(next);
    if (at == std::string_view::npos) return unreadable("the body does not have its boundary");
    at += 2;
  }
  body.remove_prefix(at + first.size());
  FormBody form;
  while (!body.starts_with("--")) {
    // Blanks may follow a boundary.
    const size_t line = body.find("\r\n");
    if (line == std::string_view::npos || !trim_blanks(body.substr(0, line)).empty()) {
      return unreadable("a boundary of the body is not followed by the end of its line");
    }
    body.remove_prefix(line + 2);
    const size_t blank = body.substr(0, kLongestPartHeader).find("\r\n\r\n");
    FormPart part;
    if (blank == std::string_view::npos || !read_part_header(body.substr(0, blank), part)) {
      return unreadable("a part of the body has no header that names it");
    }
    if (form.parts.size() == kMostParts) return unreadable("the body has more than 64 parts");
    body.remove_prefix(blank + 4);
    const size_t end = body.find(next);
    if (end == std::string_view::npos) return unreadable("the last part of the body has no end");
    part.bytes = body.substr(0, end);
    form.parts.push_back(std::move(part));
    body.remove_prefix(end + next.size());
  }
  return form;
}

}  // namespace longhaul::http
