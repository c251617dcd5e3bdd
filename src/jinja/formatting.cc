#include "jinja/formatting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace longhaul::jinja {
namespace {

/// A format specification after %, or after the colon in braces.
struct Spec {
  std::string_view fill = " ";
  char align = 0;  ///< < > ^, or = for padding between sign and digits
  char sign = '-';
  bool alternate = false, commas = false;
  size_t width = 0;
  std::optional<int> precision;
  char type = 0;
};

/// Cost of padding and digits.
size_t cost_of(const Spec& spec) {
  return 16 * (spec.width + static_cast<size_t>(spec.precision.value_or(0)));
}

/// Parses a number of at most 9,999; larger ones are not useful as widths.
size_t small_number(std::string_view text, size_t& at) {
  size_t number = 0;
  const size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    if (at - begin >= 4) fault("a width in a format is out of range");
    number = number * 10 + static_cast<size_t>(text[at++] - '0');
  }
  return number;
}

String padded(const String& text, const Spec& spec, char usual, size_t sign_bytes) {
  const size_t length = count_characters(text.bytes());
  if (length >= spec.width) return text;
  const size_t missing = spec.width - length;
  const char align = spec.align != 0 ? spec.align : usual;
  const size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  String out;
  if (align == '=') out.append(text, 0, sign_bytes);
  for (size_t i = 0; i < before; ++i) out.append(spec.fill, Origin::kTemplate);
  out.append(text, align == '=' ? sign_bytes : 0, text.size());
  for (size_t i = before; i < missing; ++i) out.append(spec.fill, Origin::kTemplate);
  return out;
}

std::string with_commas(const std::string& digits) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && at < end && (end - at) % 3 == 0) out += ',';
    out += digits[at];
  }
  return out;
}

std::string real_digits(double value, const Spec& spec) {
  const char type = spec.type == 0 ? (spec.precision ? 'g' : 'r') : spec.type;
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  const int precision = spec.precision.value_or(6);
  switch (type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", value, precision);
    case 'e':
      return fmt::format("{:.{}e}", value, precision);
    case 'g':
      return fmt::format("{:.{}g}", value, precision);
    case '%':
      return fmt::format("{:.{}f}%", value * 100, precision);
    case 'r':
      return float_text(value);
    default:
      fault("unknown format code '{}' for a number", type);
  }
}

std::string integer_digits(uint64_t value, const Spec& spec) {
  switch (spec.type) {
    case 0:
    case 'd':
    case 'i':
    case 'u':
      return fmt::format("{}", value);
    case 'x':
      return fmt::format("{}{:x}", spec.alternate ? "0x" : "", value);
    case 'X':
      return fmt::format("{}{:X}", spec.alternate ? "0X" : "", value);
    case 'o':
      return fmt::format("{:o}", value);
    case 'b':
      return fmt::format("{:b}", value);
    default:
      fault("unknown format code '{}' for a number", spec.type);
  }
}

String formatted_number(const Value& value, const Spec& spec) {
  const bool as_real =
      value.is(Kind::real) ||
      (spec.type != 0 && std::string_view("fFeg%").find(spec.type) != std::string_view::npos);
  std::string digits;
  bool negative = false;
  if (as_real) {
    negative = std::signbit(value.real());
    digits = real_digits(std::abs(value.real()), spec);
  } else {
    const int64_t number = *value.integer();
    negative = number < 0;
    digits = integer_digits(
        negative ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number), spec);
  }
  if (spec.commas) digits = with_commas(digits);
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : spec.sign == '+' ? "+" : " ";
  return padded(String(sign + digits, Origin::kTemplate), spec, '>', sign.size());
}

String formatted_text(String text, const Spec& spec) {
  if (spec.precision) {
    const CharacterOffsets offsets(text.bytes());
    const auto most = static_cast<size_t>(*spec.precision);
    if (offsets.count() > most) text = text.slice(0, offsets.byte_of(most));
  }
  return padded(text, spec, '<', 0);
}

class PercentFormat {
 public:
  PercentFormat(const String& format, const Value& values, Budget& budget)
      : format_(format), values_(values), budget_(budget) {
    if (values.is(Kind::list) && values.list().kind == ListKind::tuple) {
      given_ = values.list().items;
    } else {
      given_ = {values};
    }
  }

  String run() {
    const std::string_view text = format_.bytes();
    bool named = false;
    for (size_t at = 0; at < text.size();) {
      const size_t sign = std::min(text.find('%', at), text.size());
      out_.append(format_, at, sign);
      at = sign;
      if (at < text.size()) named = conversion(at) || named;
      budget_.spend();
      budget_.check_length(out_.size());
    }
    const bool all = next_ == given_.size() || named || values_.is(Kind::dict);
    if (!all) fault("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  /// Returns whether the conversion names its value.
  bool conversion(size_t& at) {
    const std::string_view text = format_.bytes();
    Spec spec;
    std::optional<Value> value;
    if (++at < text.size() && text[at] == '(') {
      const size_t close = text.find(')', at);
      if (close == std::string_view::npos || !values_.is(Kind::dict)) {
        fault("format requires a mapping");
      }
      budget_.spend(values_.dict().items.size());
      const Value* found = values_.dict().find(text.substr(at + 1, close - at - 1));
      if (found == nullptr) fault("a name in a format is missing in its values");
      value = *found;
      at = close + 1;
    }
    for (; at < text.size() && std::string_view("-+ 0#").find(text[at]) != std::string_view::npos;
         ++at) {
      if (text[at] == '-') spec.align = '<';
      if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
      if (text[at] == '0') spec.fill = "0";
      if (text[at] == '#') spec.alternate = true;
    }
    spec.width = small_number(text, at);
    if (at < text.size() && text[at] == '.') {
      spec.precision = static_cast<int>(small_number(text, ++at));
    }
    if (at >= text.size()) fault("incomplete format");
    spec.type = text[at++];
    if (spec.type == '%') {
      out_.append("%", Origin::kTemplate);
    } else {
      const bool named = value.has_value();
      put(spec, named ? *value : next());
      return named;
    }
    return false;
  }

  const Value& next() {
    if (next_ == given_.size()) fault("not enough arguments for format string");
    return given_[next_++];
  }

  void put(Spec spec, const Value& value) {
    budget_.spend(cost_of(spec));
    if (spec.type == 's' || spec.type == 'r') {
      String text;
      if (spec.type == 's') {
        text = to_text(value, budget_);
      } else {
        append_repr(text, value, budget_);
      }
      spec.fill = " ";
      if (spec.align == 0) spec.align = '>';
      out_.append(formatted_text(std::move(text), spec));
      return;
    }
    check_defined(value);
    if (!value.is_number()) {
      fault("%{} format: a number is required, not {}", spec.type, value.type());
    }
    if (spec.fill == "0" && spec.align == 0) spec.align = '=';
    if (spec.align == '<') spec.fill = " ";
    const bool whole = std::string_view("diu").find(spec.type) != std::string_view::npos;
    if (whole && value.is(Kind::real)) {
      if (!(std::abs(value.real()) < 9e18)) fault("a number is out of range");
      out_.append(formatted_number(Value(static_cast<int64_t>(value.real())), spec));
    } else {
      out_.append(formatted_number(value, spec));
    }
  }

  const String& format_;
  const Value& values_;
  Budget& budget_;
  Values given_;
  size_t next_ = 0;
  String out_;
};

Spec brace_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [&](size_t i) {
    return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
  };
  const size_t first = text.empty() ? 0 : character_bytes(text, 0);
  if (first != 0 && is_align(first)) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (is_align(0)) {
    spec.align = text[at++];
  }
  const auto skip = [&](char c) { return at < text.size() && text[at] == c && ++at != 0; };
  for (const char sign : {'+', '-', ' '}) {
    if (skip(sign)) spec.sign = sign;
  }
  spec.alternate = skip('#');
  if (skip('0') && spec.align == 0) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = small_number(text, at);
  spec.commas = skip(',');
  if (skip('.')) spec.precision = static_cast<int>(small_number(text, at));
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fault("invalid format specifier");
  return spec;
}

/// The value named by a field in braces: empty (the next one), a number or a name.
const Value& field_value(std::string_view name, const Arguments& arguments, size_t& next) {
  size_t at = 0;
  const bool number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
  if (name.empty() || number) {
    const size_t index = number ? small_number(name, at) : next++;
    if (index >= arguments.positional.size()) fault("a format has more fields than values");
    return arguments.positional[index];
  }
  for (const auto& [key, value] : arguments.named) {
    if (std::string_view(key) == name) return value;
  }
  fault("a format names a value that is not given");
}

String field(std::string_view inside, const Arguments& arguments, size_t& next, Budget& budget) {
  const size_t colon = std::min(inside.find(':'), inside.size());
  std::string_view name = inside.substr(0, colon);
  const Spec spec = brace_spec(inside.substr(std::min(colon + 1, inside.size())));
  budget.spend(cost_of(spec) + arguments.named.size());
  const size_t mark = std::min(name.find('!'), name.size());
  const std::string_view conversion = name.substr(mark);
  name = name.substr(0, mark);
  const Value& value = field_value(name, arguments, next);
  if (value.is_number() && !value.is(Kind::boolean) && conversion.empty()) {
    return formatted_number(value, spec);
  }
  String text;
  if (conversion == "!r") {
    append_repr(text, value, budget);
  } else {
    text = to_text(value, budget);
  }
  return formatted_text(std::move(text), spec);
}

}  // namespace

String percent_format(const String& format, const Value& values, Budget& budget) {
  budget.spend(format.size());
  return PercentFormat(format, values, budget).run();
}

String brace_format(const String& format, const Arguments& arguments, Budget& budget) {
  const std::string_view text = format.bytes();
  budget.spend(text.size());
  String out;
  size_t next = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t brace = std::min(text.find_first_of("{}", at), text.size());
    out.append(format, at, brace);
    if (brace == text.size()) break;
    if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
      out.append(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const size_t close = text.find('}', brace);
    if (text[brace] == '}' || close == std::string_view::npos) {
      fault("a single brace in a format");
    }
    out.append(field(text.substr(brace + 1, close - brace - 1), arguments, next, budget));
    at = close + 1;
    budget.spend();
    budget.check_length(out.size());
  }
  return out;
}

}  // namespace longhaul::jinja
