// Methods of Python's str.

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/formatting.h"
#include "jinja/letters.h"
#include "jinja/library.h"
#include "jinja/substrings.h"

namespace longhaul::jinja {
namespace {

/// A method from text to text that reads every byte.
template <String (*change)(const String&)>
Value changed_by(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters none(arguments, {});
  interpreter.budget().spend(self.string().weight());
  return Value(change(self.string()));
}

template <bool front, bool back>
Value strip(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"chars"});
  interpreter.budget().spend(self.string().weight());
  return Value(stripped(self.string(), given.given(0), front, back, interpreter.budget()));
}

template <bool from_end>
Value split(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"sep", "maxsplit"});
  return Value::list(split_text(self.string(), given.given(0), given.integer(1, -1), from_end,
                                interpreter.budget()));
}

Value splitlines(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"keepends"});
  return Value::list(lines_of(self.string(), given.flag(0, false), interpreter.budget()));
}

/// Implements str.startswith and similar, which take one text or a tuple of them.
template <bool at_end>
Value affix(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"affix", "start", "end"});
  const Value begin = given.has(1) ? given[1] : Value::none();
  const Value end = given.has(2) ? given[2] : Value::none();
  const String text = part_of(self.string(), begin, end, interpreter.budget());
  const auto matches = [&](const Value& affix) {
    check_defined(affix);
    if (!affix.is(Kind::string)) fault("needs a str or a tuple of str, not {}", affix.type());
    interpreter.budget().spend(affix.string().weight());
    return at_end ? text.bytes().ends_with(affix.bytes()) : text.bytes().starts_with(affix.bytes());
  };
  const Value& affixes = given[0];
  if (!affixes.is(Kind::list)) return Value(matches(affixes));
  if (affixes.list().kind != ListKind::tuple) fault("needs a str or a tuple of str, not list");
  const auto& all = affixes.list().items;
  return Value(std::any_of(all.begin(), all.end(), matches));
}

template <bool at_end>
Value remove_affix(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"affix"});
  const String& affix = text_argument(given[0]);
  const String& text = self.string();
  interpreter.budget().spend(text.weight());
  const bool there =
      at_end ? text.bytes().ends_with(affix.bytes()) : text.bytes().starts_with(affix.bytes());
  if (!there) return self;
  return Value(at_end ? text.slice(0, text.size() - affix.size())
                      : text.slice(affix.size(), text.size()));
}

template <bool from_end, bool must_be_there>
Value find(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"sub", "start", "end"});
  const String& sub = text_argument(given[0]);
  const Value begin = given.has(1) ? given[1] : Value::none();
  const Value end = given.has(2) ? given[2] : Value::none();
  interpreter.budget().spend(2 * self.string().size() + sub.size());
  const ByteRange within = range_of(self.bytes(), begin, end);
  const std::string_view text = self.bytes().substr(within.begin, within.end - within.begin);
  const size_t at = from_end ? find_last_bytes(text, sub.bytes()) : find_bytes(text, sub.bytes());
  if (at == std::string_view::npos) {
    if (must_be_there) fault("substring not found");
    return Value(int64_t{-1});
  }
  return Value(static_cast<int64_t>(count_characters(self.bytes().substr(0, within.begin + at))));
}

Value count_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"sub"});
  const String& sub = text_argument(given[0]);
  interpreter.budget().spend(self.string().weight());
  if (sub.empty()) return Value(static_cast<int64_t>(count_characters(self.bytes())) + 1);
  int64_t found = 0;
  for (size_t at = 0; (at = find_bytes(self.bytes(), sub.bytes(), at)) != std::string_view::npos;
       at += sub.size()) {
    ++found;
  }
  return Value(found);
}

Value replace_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"old", "new", "count"});
  return Value(replaced(self.string(), text_argument(given[0]), text_argument(given[1]),
                        given.integer(2, -1), interpreter.budget()));
}

Value join_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"iterable"});
  String out;
  bool first = true;
  for (const Value& item : items_of(given[0], interpreter.budget())) {
    if (!item.is(Kind::string)) fault("join() needs texts, found {}", item.type());
    interpreter.budget().check_length(out.size() + item.string().size() + self.string().size());
    interpreter.budget().spend(item.string().weight() + self.string().weight());
    if (!first) out.append(self.string());
    out.append(item.string());
    first = false;
  }
  return Value(std::move(out));
}

Value format_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return Value(brace_format(self.string(), arguments, interpreter.budget()));
}

template <char align>
Value justify(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"width", "fillchar"});
  const String fill = given.text(1, " ", interpreter.budget());
  return Value(justified(self.string(), given.integer(0, 0), fill, align, interpreter.budget()));
}

Value zfill(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"width"});
  const String& text = self.string();
  const bool sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  const String zero("0", Origin::kTemplate);
  String out = text.slice(0, sign ? 1 : 0);
  out.append(justified(text.slice(sign ? 1 : 0, text.size()), given.integer(0, 0) - (sign ? 1 : 0),
                       zero, '>', interpreter.budget()));
  return Value(std::move(out));
}

template <bool from_end>
Value partition(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters given(arguments, {"sep"});
  const String& mark = text_argument(given[0]);
  if (mark.empty()) fault("empty separator");
  const String& text = self.string();
  interpreter.budget().spend(text.weight());
  const size_t at = from_end ? find_last_bytes(text.bytes(), mark.bytes())
                             : find_bytes(text.bytes(), mark.bytes());
  const auto part = [&](size_t begin, size_t end) { return Value(text.slice(begin, end)); };
  if (at != std::string_view::npos) {
    return Value::list(
        {part(0, at), part(at, at + mark.size()), part(at + mark.size(), text.size())},
        ListKind::tuple);
  }
  const Value nothing{String()};
  return from_end ? Value::list({nothing, nothing, self}, ListKind::tuple)
                  : Value::list({self, nothing, nothing}, ListKind::tuple);
}

template <bool (*holds)(std::string_view)>
Value all_are(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Parameters none(arguments, {});
  interpreter.budget().spend(self.string().weight());
  return Value(holds(self.bytes()));
}

constexpr auto kMethods = std::to_array<std::pair<std::string_view, Filter>>({
    {"capitalize", changed_by<capitalized>},
    {"casefold", changed_by<lowered>},
    {"center", justify<'^'>},
    {"count", count_method},
    {"endswith", affix<true>},
    {"find", find<false, false>},
    {"format", format_method},
    {"index", find<false, true>},
    {"isalnum", all_are<all_letters_or_digits>},
    {"isalpha", all_are<all_letters>},
    {"isascii", all_are<all_ascii>},
    {"isdecimal", all_are<all_digits>},
    {"isdigit", all_are<all_digits>},
    {"islower", all_are<all_lower>},
    {"isnumeric", all_are<all_digits>},
    {"isspace", all_are<all_space>},
    {"isupper", all_are<all_upper>},
    {"join", join_method},
    {"ljust", justify<'<'>},
    {"lower", changed_by<lowered>},
    {"lstrip", strip<true, false>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<'>'>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", affix<false>},
    {"strip", strip<true, true>},
    {"swapcase", changed_by<swapped_case>},
    {"title", changed_by<titled>},
    {"upper", changed_by<uppered>},
    {"zfill", zfill},
});

}  // namespace

Filter find_text_method(std::string_view name) {
  const auto* const found = std::find_if(kMethods.begin(), kMethods.end(),
                                         [&](const auto& method) { return method.first == name; });
  return found == kMethods.end() ? nullptr : found->second;
}

}  // namespace longhaul::jinja
