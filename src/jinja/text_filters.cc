// Filters on single values: texts, numbers, JSON.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "jinja/formatting.h"
#include "jinja/json.h"
#include "jinja/letters.h"
#include "jinja/library.h"
#include "jinja/operators.h"
#include "jinja/substrings.h"

namespace longhaul::jinja {
namespace {

/// A filter from text to text; other values are converted to text first.
template <String (*change)(const String&)>
Value changed(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters none(arguments, {});
  const String text = to_text(subject, interpreter.budget());
  interpreter.budget().spend(text.weight());
  return Value(change(text));
}

String as_it_is(const String& text) { return text; }

String as_markup(const String& text) {
  String markup = text;
  markup.set_markup();
  return markup;
}

String escaped_anew(const String& text) { return escaped(text.slice(0, text.size())); }

Value trim(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"chars"});
  const String text = to_text(subject, interpreter.budget());
  interpreter.budget().spend(text.weight());
  return Value(stripped(text, given.given(0), true, true, interpreter.budget()));
}

Value replace(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"old", "new", "count"});
  Budget& budget = interpreter.budget();
  const int64_t most = given.given(2) != nullptr ? given.integer(2, -1) : -1;
  return Value(replaced(to_text(subject, budget), to_text(given[0], budget),
                        to_text(given[1], budget), most, budget));
}

Value indent(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  const bool by_text = given.has(0) && given[0].is(Kind::string);
  const int64_t width = by_text ? 0 : given.integer(0, 4);
  budget.check_length(static_cast<size_t>(std::max<int64_t>(0, width)));
  budget.spend(static_cast<size_t>(std::max<int64_t>(0, width)));
  const String by = by_text
                        ? given[0].string()
                        : String(std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' '),
                                 Origin::kTemplate);
  String text = to_text(subject, budget);
  text.append("\n", Origin::kTemplate);
  String out;
  bool first = true;
  for (const Value& line : lines_of(text, false, budget)) {
    const bool shift =
        first ? given.flag(1, false) : given.flag(2, false) || !line.string().empty();
    if (!first) out.append("\n", Origin::kTemplate);
    if (shift) out.append(by);
    out.append(line.string());
    budget.spend(by.weight() + line.string().weight());
    budget.check_length(out.size());
    first = false;
  }
  return Value(std::move(out));
}

Value truncate(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"length", "killwords", "end", "leeway"});
  Budget& budget = interpreter.budget();
  const Value text(to_text(subject, budget));
  const String end = given.text(2, "...", budget);
  const int64_t length = given.integer(0, 255);
  const int64_t leeway = given.given(3) != nullptr ? given.integer(3, 5) : 5;
  const auto own = static_cast<int64_t>(count_characters(end.bytes()));
  if (length < own || leeway < 0 || leeway > INT32_MAX) fault("expected length >= {}", own);
  budget.spend(text.string().size());
  const auto characters = static_cast<int64_t>(count_characters(text.bytes()));
  if (characters - leeway <= length) return text;
  String out = part_of(text.string(), Value::none(), Value(length - own), budget);
  if (!given.flag(1, false)) {
    const size_t blank = out.bytes().rfind(' ');
    if (blank != std::string_view::npos) out = out.slice(0, blank);
  }
  out.append(end);
  return Value(std::move(out));
}

Value center(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"width"});
  return Value(justified(to_text(subject, interpreter.budget()), given.integer(0, 80),
                         String(" ", Origin::kTemplate), '^', interpreter.budget()));
}

Value format(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    fault("can't handle positional and keyword arguments at the same time");
  }
  Value values = Value::list(arguments.positional, ListKind::tuple);
  if (!arguments.named.empty()) {
    Pairs items;
    for (const auto& [name, value] : arguments.named) items.emplace_back(Value::text(name), value);
    values = Value::dict(std::move(items));
  }
  return Value(
      percent_format(to_text(subject, interpreter.budget()), values, interpreter.budget()));
}

Value wordcount(Interpreter& interpreter, const Value& subject, const Arguments&) {
  const String text = to_text(subject, interpreter.budget());
  interpreter.budget().spend(text.weight());
  int64_t words = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text.bytes(), at);
    const std::string_view c = text.bytes().substr(at, bytes);
    const bool letter = c == "_" || all_letters_or_digits(c);
    words += letter && !in_word ? 1 : 0;
    in_word = letter;
    at += bytes;
  }
  return Value(words);
}

Value tojson(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = given.flag(0, false);
  style.sorted = given.flag(3, false);
  if (const Value* indent = given.given(1)) {
    constexpr int64_t kWidest = 1000;
    const bool text = indent->is(Kind::string);
    const int64_t width = text ? 0 : std::clamp<int64_t>(given.integer(1, 0), 0, kWidest);
    style.indent = text ? indent->string()
                        : String(std::string(static_cast<size_t>(width), ' '), Origin::kTemplate);
  }
  if (const Value* separators = given.given(2)) {
    const Values two = items_of(*separators, interpreter.budget());
    if (two.size() != 2) fault("separators must be two texts");
    style.item_separator = text_argument(two[0]);
    style.key_separator = text_argument(two[1]);
  }
  return Value(to_json(subject, style, interpreter.budget()));
}

Value default_value(Interpreter&, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"default_value", "boolean"});
  const bool missing = subject.is(Kind::undefined) || (given.flag(1, false) && !subject.truth());
  if (!missing) return subject;
  return given.has(0) ? given[0] : Value(String());
}

Value absolute(Interpreter&, const Value& subject, const Arguments&) {
  check_defined(subject);
  if (!subject.is_number()) fault("bad operand type for abs(): '{}'", subject.type());
  return subject.real() < 0 ? unary("-", subject) : unary("+", subject);
}

/// Parses a number like float(); underscores are not supported.
std::optional<double> parsed_real(std::string_view text) {
  const ByteRange inside = without_space(text, true, true);
  text = text.substr(inside.begin, inside.end - inside.begin);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> parsed_integer(std::string_view text, int base) {
  const ByteRange inside = without_space(text, true, true);
  text = text.substr(inside.begin, inside.end - inside.begin);
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> whole(double number) {
  if (!(std::abs(number) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(number);
}

Value to_integer(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"default", "base"});
  check_defined(subject);
  const int64_t base = given.integer(1, 10);
  if (base < 2 || base > 36) fault("base must be from 2 to 36");
  std::optional<int64_t> number;
  if (subject.is(Kind::string)) {
    interpreter.budget().spend(16 * subject.bytes().size());
    number = parsed_integer(subject.bytes(), static_cast<int>(base));
    const auto real = number ? std::nullopt : parsed_real(subject.bytes());
    if (real) number = whole(*real);
  } else if (subject.is_number()) {
    number = subject.integer() ? subject.integer() : whole(subject.real());
  }
  if (number) return Value(*number);
  return given.has(0) ? given[0] : Value(int64_t{0});
}

Value to_real(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"default"});
  check_defined(subject);
  if (subject.is_number()) return Value(subject.real());
  if (subject.is(Kind::string)) {
    interpreter.budget().spend(16 * subject.bytes().size());
    if (const auto number = parsed_real(subject.bytes())) return Value(*number);
  }
  return given.has(0) ? given[0] : Value(0.0);
}

Value rounded(Interpreter&, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"precision", "method"});
  check_defined(subject);
  if (!subject.is_number()) fault("a number is needed, not {}", subject.type());
  const int64_t precision = std::clamp<int64_t>(given.integer(0, 0), -300, 300);
  const std::string_view method =
      given.has(1) && given[1].is(Kind::string) ? given[1].bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    fault("method must be common, ceil or floor");
  }
  if (method != "common") {
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = subject.real() * scale;
    return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  if (!subject.is(Kind::real)) {
    if (precision >= 0) return Value(*subject.integer());
    fault("rounding of integers to tens is not supported");
  }
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return Value(std::nearbyint(subject.real() / scale) * scale);
  }
  return Value(*parsed_real(fmt::format("{:.{}f}", subject.real(), precision)));
}

constexpr auto kTextFilters = std::to_array<std::pair<std::string_view, Filter>>({
    {"abs", absolute},
    {"capitalize", changed<capitalized>},
    {"center", center},
    {"d", default_value},
    {"default", default_value},
    {"e", changed<escaped>},
    {"escape", changed<escaped>},
    {"float", to_real},
    {"forceescape", changed<escaped_anew>},
    {"format", format},
    {"indent", indent},
    {"int", to_integer},
    {"lower", changed<lowered>},
    {"replace", replace},
    {"round", rounded},
    {"safe", changed<as_markup>},
    {"string", changed<as_it_is>},
    {"title", changed<titled_words>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", changed<uppered>},
    {"wordcount", wordcount},
});

}  // namespace

Filter find_text_filter(std::string_view name) {
  const auto* const found = std::find_if(kTextFilters.begin(), kTextFilters.end(),
                                         [&](const auto& filter) { return filter.first == name; });
  return found == kTextFilters.end() ? nullptr : found->second;
}

Filter find_filter(std::string_view name) {
  const Filter text = find_text_filter(name);
  return text != nullptr ? text : find_list_filter(name);
}

}  // namespace longhaul::jinja
