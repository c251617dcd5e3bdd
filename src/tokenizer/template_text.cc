#include "tokenizer/template_text.h"

#include <algorithm>

namespace longhaul {
namespace {

constexpr std::string_view kSpaces = " \t\r\n", kQuotes = "'\"";

/// Not where the backslash itself is escaped.
std::string with_line_breaks(std::string_view jinja) {
  std::string out;
  for (size_t i = 0; i < jinja.size(); ++i) {
    const bool escape = jinja[i] == '\\' && i + 1 < jinja.size();
    if (escape && jinja[i + 1] == 'n') {
      out += '\n';
      ++i;
      continue;
    }
    out += jinja[i];
    if (escape && jinja[i + 1] == '\\') out += jinja[++i];
  }
  return out;
}

/// Where a literal's closing quote stands; npos where it does not.
size_t literal_end(std::string_view text, char quote) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == quote) return i;
    if (text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

/// A literal's text without its escapes; none where it has some that are not known here.
std::optional<std::string> unescaped(std::string_view literal) {
  std::string out;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out += literal[i];
      continue;
    }
    const char c = literal[++i];
    if (c != 't' && c != '\\' && kQuotes.find(c) == std::string_view::npos) return std::nullopt;
    out += c == 't' ? '\t' : c;
  }
  return out;
}

/// Where `name` stands between double braces that begin at `open`; npos where it does not.
size_t written_end(std::string_view text, size_t open, std::string_view name) {
  size_t at = text.find_first_not_of(" -\t\r\n", open + 2);
  if (at == std::string_view::npos || !text.substr(at).starts_with(name)) {
    return std::string_view::npos;
  }
  at = text.find_first_not_of(" -\t\r\n", at + name.size());
  const bool closed = at != std::string_view::npos && text.substr(at).starts_with("}}");
  return closed ? at : std::string_view::npos;
}

}  // namespace

TemplateText::TemplateText(std::string_view jinja)
    : jinja_(jinja), text_(with_line_breaks(jinja)) {}

std::optional<std::string> TemplateText::literal_between(std::string_view before,
                                                         std::string_view after) const {
  for (size_t at = 0; (at = text_.find(before, at)) != std::string::npos;) {
    const char ahead = at > 0 ? text_[at - 1] : ' ';
    const char quote = kQuotes.find(ahead) != std::string_view::npos ? ahead : '\0';
    at += before.size();
    const std::string_view found = std::string_view(text_).substr(at, text_.find(after, at) - at);
    const bool computed = found.empty() || (quote != 0 && found.front() == quote) ||
                          found.starts_with("{{") || found.starts_with("{%");
    if (computed) continue;
    if (quote != 0) {
      const bool mixed = literal_end(found, quote) != std::string_view::npos;
      return mixed ? std::nullopt : unescaped(found);
    }
    const bool mixed =
        found.find("{{") != std::string_view::npos || found.find("{%") != std::string_view::npos;
    return mixed ? std::nullopt : std::optional<std::string>(found);
  }
  return "";
}

std::optional<std::string> TemplateText::assigned_text(std::string_view part) const {
  for (size_t at = 0; (at = text_.find("set ", at)) != std::string::npos;) {
    at += 4;
    const size_t equals = text_.find('=', at);
    if (equals == std::string::npos) break;
    const bool named =
        std::string_view(text_).substr(at, equals - at).find(part) != std::string_view::npos;
    const size_t quote = text_.find_first_not_of(kSpaces, equals + 1);
    if (!named || quote == std::string::npos || kQuotes.find(text_[quote]) == std::string::npos) {
      continue;
    }
    const std::string_view rest = std::string_view(text_).substr(quote + 1);
    const auto value = unescaped(rest.substr(0, literal_end(rest, text_[quote])));
    if (!value || !value->empty()) return value;
  }
  return "";
}

bool TemplateText::writes_bare(std::string_view name, std::string_view before) const {
  constexpr size_t kNear = 48;  // bytes: braces, spaces and a line break lie between
  for (size_t at = 0; (at = text_.find("{{", at)) != std::string::npos; at += 2) {
    if (written_end(text_, at, name) == std::string::npos) continue;
    const size_t from = at > kNear ? at - kNear : 0;
    if (text_.substr(from, at - from).find(before) == std::string::npos) return true;
  }
  return false;
}

bool TemplateText::breaks_line_after(std::string_view mark) const {
  for (size_t at = 0; (at = jinja_.find(mark, at)) != std::string::npos;) {
    at += mark.size();
    // It may stand in the next of several literals: '<|im_end|>' + '\n'.
    const size_t next = std::min(jinja_.find_first_not_of(" '\"+~", at), jinja_.size());
    const bool in_literal = jinja_.substr(at, next - at).find_first_of("+~") != std::string::npos;
    if (jinja_.compare(next, 2, "\\n") == 0) return true;
    if (in_literal && next < jinja_.size() && jinja_[next] == '\n') return true;
    // A plain one, unless the next tag takes it away.
    size_t line = at;
    const size_t close = jinja_.find_first_not_of(" '\"", at);
    if (close != std::string::npos && jinja_.compare(close, 2, "}}") == 0) line = close + 2;
    if (line >= jinja_.size() || jinja_[line] != '\n') continue;
    const size_t tag = jinja_.find_first_not_of(kSpaces, line);
    const bool taken = tag != std::string::npos &&
                       (jinja_.compare(tag, 3, "{%-") == 0 || jinja_.compare(tag, 3, "{{-") == 0);
    if (!taken) return true;
  }
  return false;
}

}  // namespace longhaul
