// Conversion of values to text as in Python.

#include <fmt/format.h>
#include <utf8proc.h>

#include <cmath>

#include "jinja/value.h"
#include "text/utf8.h"

namespace longhaul::jinja {
namespace {

/// Whether repr() writes the character itself.
bool is_printable(uint32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return code_point == ' ';
    default:
      return true;
  }
}

std::string escaped_code(uint32_t code_point) {
  if (code_point == '\n') return "\\n";
  if (code_point == '\r') return "\\r";
  if (code_point == '\t') return "\\t";
  if (code_point < 0x100) return fmt::format("\\x{:02x}", code_point);
  if (code_point < 0x10000) return fmt::format("\\u{:04x}", code_point);
  return fmt::format("\\U{:08x}", code_point);
}

void append_quoted(String& out, const String& text) {
  const std::string_view bytes = text.bytes();
  const bool double_quotes =
      bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  out.append(std::string_view(&quote, 1), Origin::kTemplate);
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Sequence sequence = read_utf8(bytes.substr(at));
    const bool whole = sequence.status == Utf8Status::complete;
    const char c = bytes[at];
    if (c == quote || c == '\\') {
      out.append("\\", text.origin_at(at));
      out.append(text, at, at + 1);
    } else if (whole && !is_printable(sequence.code_point)) {
      out.append(escaped_code(sequence.code_point), text.origin_at(at));
    } else {
      out.append(text, at, at + sequence.bytes);
    }
    at += sequence.bytes;
  }
  out.append(std::string_view(&quote, 1), Origin::kTemplate);
}

void append_list(String& out, const List& list, Budget& budget) {
  const bool tuple = list.kind == ListKind::tuple;
  const auto own = [&](std::string_view text) { out.append(text, Origin::kTemplate); };
  own(tuple ? "(" : "[");
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) own(", ");
    append_repr(out, list.items[i], budget);
  }
  if (tuple && list.items.size() == 1) own(",");
  own(tuple ? ")" : "]");
}

void append_dict(String& out, const Dict& dict, Budget& budget) {
  const auto own = [&](std::string_view text) { out.append(text, Origin::kTemplate); };
  own("{");
  bool first = true;
  for (const auto& [key, item] : dict.items) {
    if (!first) own(", ");
    first = false;
    append_repr(out, key, budget);
    own(": ");
    append_repr(out, item, budget);
  }
  own("}");
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void append_repr(String& out, const Value& value, Budget& budget) {
  budget.spend();
  if (value.is(Kind::string)) {
    budget.spend(value.string().weight());
    append_quoted(out, value.string());
  } else if (value.is(Kind::list) && value.list().kind != ListKind::generator) {
    append_list(out, value.list(), budget);
  } else if (value.is(Kind::dict)) {
    append_dict(out, value.dict(), budget);
  } else {
    out.append(value.is(Kind::undefined) ? String("Undefined", Origin::kTemplate)
                                         : to_text(value, budget));
  }
  budget.check_length(out.size());
}

String to_text(const Value& value, Budget& budget) {
  budget.spend();
  const auto own = [](std::string_view text) { return String(text, Origin::kTemplate); };
  switch (value.kind()) {
    case Kind::undefined:
      return {};
    case Kind::none:
      return own("None");
    case Kind::boolean:
      return own(value.boolean() ? "True" : "False");
    case Kind::integer:
      return own(std::to_string(*value.integer()));
    case Kind::real:
      return own(float_text(value.real()));
    case Kind::string:
      budget.spend(value.string().weight());
      return value.string();
    default:
      break;
  }
  const bool named =
      value.is(Kind::object) || (value.is(Kind::list) && value.list().kind == ListKind::generator);
  if (named) return own(fmt::format("<{} object>", value.type()));
  String out;
  append_repr(out, value, budget);
  return out;
}

}  // namespace longhaul::jinja
