// Filters that iterate over the items of a value.

#include <algorithm>
#include <array>
#include <numeric>

#include "jinja/letters.h"
#include "jinja/library.h"
#include "jinja/operators.h"
#include "jinja/substrings.h"

namespace longhaul::jinja {
namespace {

/// The attribute "a.b.0" of an item; a missing one becomes `when_absent`, if given.
Value attribute_of(Interpreter& interpreter, Value item, const Value& path,
                   const Value* when_absent = nullptr) {
  if (path.integer()) return interpreter.item(item, path);
  const String& names = text_argument(path);
  const Value dot = Value::text(".");
  for (const Value& name : split_text(names, &dot, -1, false, interpreter.budget())) {
    const std::string_view text = name.bytes();
    const bool number = text.size() < 10 && all_digits(text) && all_ascii(text);
    item = interpreter.item(item, number ? Value(int64_t{std::stoi(std::string(text))}) : name);
    if (item.is(Kind::undefined) && when_absent != nullptr) return *when_absent;
  }
  return item;
}

/// The sort key of an item: one or several of its attributes, in lower case unless case counts.
Value sort_key(Interpreter& interpreter, const Value& item, const Value* path, bool with_case) {
  const auto folded = [&](const Value& value) {
    if (with_case || !value.is(Kind::string)) return value;
    interpreter.budget().spend(value.string().size());
    return Value(lowered(value.string()));
  };
  if (path == nullptr) return folded(item);
  const Value comma = Value::text(",");
  Values keys;
  if (!path->is(Kind::string)) return folded(attribute_of(interpreter, item, *path));
  for (const Value& one : split_text(path->string(), &comma, -1, false, interpreter.budget())) {
    keys.push_back(folded(attribute_of(interpreter, item, one)));
  }
  return keys.size() == 1 ? keys[0] : Value::list(std::move(keys));
}

Values sort_keys(Interpreter& interpreter, const Values& items, const Value* path, bool with_case) {
  Values keys;
  for (const Value& item : items) keys.push_back(sort_key(interpreter, item, path, with_case));
  return keys;
}

/// Indices in the order of their keys; the sort is stable.
std::vector<size_t> order_of(Interpreter& interpreter, const Values& keys, bool reverse) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    interpreter.budget().spend();
    return reverse ? less(keys[b], keys[a], interpreter.budget())
                   : less(keys[a], keys[b], interpreter.budget());
  });
  return order;
}

Values picked(const Values& items, const std::vector<size_t>& order) {
  Values out;
  for (const size_t i : order) out.push_back(items[i]);
  return out;
}

Value sort(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"reverse", "case_sensitive", "attribute"});
  const Values items = items_of(subject, interpreter.budget());
  const auto keys = sort_keys(interpreter, items, given.given(2), given.flag(1, false));
  return Value::list(picked(items, order_of(interpreter, keys, given.flag(0, false))));
}

Values pairs_of(Interpreter& interpreter, const Value& dict) {
  return interpreter.call(find_method(dict, "items"), {}).list().items;
}

Value dictsort(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"case_sensitive", "by", "reverse"});
  if (!subject.is(Kind::dict)) fault("dictsort needs a dict, not {}", subject.type());
  const bool by_value = given.has(1) && given[1].is(Kind::string) && given[1].bytes() == "value";
  const Values items = pairs_of(interpreter, subject);
  const Value part(int64_t{by_value ? 1 : 0});
  const auto keys = sort_keys(interpreter, items, &part, given.flag(0, false));
  return Value::list(picked(items, order_of(interpreter, keys, given.flag(2, false))));
}

template <bool largest>
Value extreme(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"case_sensitive", "attribute"});
  const Values items = items_of(subject, interpreter.budget());
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const auto keys = sort_keys(interpreter, items, given.given(1), given.flag(0, false));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    const bool better = largest ? less(keys[best], keys[i], interpreter.budget())
                                : less(keys[i], keys[best], interpreter.budget());
    if (better) best = i;
  }
  return items[best];
}

Value unique(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"case_sensitive", "attribute"});
  const Values items = items_of(subject, interpreter.budget());
  const auto keys = sort_keys(interpreter, items, given.given(1), given.flag(0, false));
  Values out, seen;
  for (size_t i = 0; i < items.size(); ++i) {
    interpreter.budget().spend(seen.size());
    const bool known = std::any_of(seen.begin(), seen.end(), [&](const Value& key) {
      return equal(key, keys[i], interpreter.budget());
    });
    if (known) continue;
    seen.push_back(keys[i]);
    out.push_back(items[i]);
  }
  return Value::list(std::move(out), ListKind::generator);
}

Value groupby(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"attribute", "default", "case_sensitive"});
  const Values items = items_of(subject, interpreter.budget());
  const bool with_case = given.flag(2, false);
  Values found, keys;
  for (const Value& item : items) {
    found.push_back(attribute_of(interpreter, item, given[0], given.given(1)));
    keys.push_back(sort_key(interpreter, found.back(), nullptr, with_case));
  }
  Values groups, group;
  const std::vector<size_t> order = order_of(interpreter, keys, false);
  for (size_t i = 0; i < order.size(); ++i) {
    group.push_back(items[order[i]]);
    const bool goes_on =
        i + 1 < order.size() && equal(keys[order[i]], keys[order[i + 1]], interpreter.budget());
    if (goes_on) continue;
    const size_t first = order[i + 1 - group.size()];
    groups.push_back(Value::list({found[first], Value::list(std::move(group))}, ListKind::tuple));
    group.clear();
  }
  return Value::list(std::move(groups));
}

Value first(Interpreter& interpreter, const Value& subject, const Arguments&) {
  const Values items = items_of(subject, interpreter.budget());
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Interpreter& interpreter, const Value& subject, const Arguments&) {
  const Values items = items_of(subject, interpreter.budget());
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value length(Interpreter& interpreter, const Value& subject, const Arguments&) {
  switch (subject.kind()) {
    case Kind::undefined:
      return Value(int64_t{0});
    case Kind::string:
      interpreter.budget().spend(subject.string().weight());
      return Value(static_cast<int64_t>(count_characters(subject.bytes())));
    case Kind::dict:
      return Value(static_cast<int64_t>(subject.dict().items.size()));
    case Kind::list:
      if (subject.list().kind != ListKind::generator) {
        return Value(static_cast<int64_t>(subject.list().items.size()));
      }
      break;
    default:
      break;
  }
  fault("object of type '{}' has no len()", subject.type());
}

Value join(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"d", "attribute"});
  Budget& budget = interpreter.budget();
  const String between = given.text(0, "", budget);
  String out;
  bool first = true;
  for (const Value& item : items_of(subject, budget)) {
    const Value* path = given.given(1);
    const String text =
        to_text(path != nullptr ? attribute_of(interpreter, item, *path) : item, budget);
    budget.check_length(out.size() + between.size() + text.size());
    budget.spend(between.weight() + text.weight());
    if (!first) out.append(between);
    out.append(text);
    first = false;
  }
  return Value(std::move(out));
}

Value list(Interpreter& interpreter, const Value& subject, const Arguments&) {
  return Value::list(items_of(subject, interpreter.budget()));
}

Value item_pairs(Interpreter& interpreter, const Value& subject, const Arguments&) {
  if (subject.is(Kind::undefined)) return Value::list({}, ListKind::generator);
  if (!subject.is(Kind::dict)) fault("Can only get item pairs from a mapping.");
  return Value::list(pairs_of(interpreter, subject), ListKind::generator);
}

Value reverse(Interpreter& interpreter, const Value& subject, const Arguments&) {
  const Values forward = items_of(subject, interpreter.budget());
  Values items(forward.rbegin(), forward.rend());
  if (!subject.is(Kind::string)) return Value::list(std::move(items), ListKind::generator);
  String out;
  for (const Value& character : items) out.append(character.string());
  return Value(std::move(out));
}

Value attr(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"name"});
  const String name = given.text(0, "", interpreter.budget());
  if (!subject.is(Kind::dict)) return interpreter.attribute(subject, name.bytes());
  const Value method = find_method(subject, name.bytes());  // methods only, not its items
  return method.is(Kind::undefined) ? Value::undefined("a dict has no such attribute") : method;
}

/// Arguments from index `from` on.
Arguments rest_of(const Arguments& arguments, size_t from) {
  Arguments rest = arguments;
  const size_t count = std::min(from, rest.positional.size());
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

/// jinja2's map and select iterate over nothing if a value is false, even if it is not a sequence.
Values items_or_none(Interpreter& interpreter, const Value& value) {
  return value.truth() ? items_of(value, interpreter.budget()) : Values{};
}

Value map(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  Values out;
  const bool by_filter = !arguments.positional.empty();
  const String name = by_filter ? text_argument(arguments.positional[0]) : String();
  const Arguments rest = rest_of(arguments, 1);
  const Arguments none;
  const Parameters given(by_filter ? none : arguments, {"attribute", "default"});
  for (const Value& item : items_or_none(interpreter, subject)) {
    out.push_back(by_filter ? interpreter.filter(name.bytes(), item, rest)
                            : attribute_of(interpreter, item, given[0], given.given(1)));
  }
  return Value::list(std::move(out), ListKind::generator);
}

/// Implements select, reject and, by an attribute of the items, selectattr and rejectattr.
template <bool wanted, bool by_attribute>
Value select(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const size_t before = by_attribute ? 1 : 0;
  if (arguments.positional.size() < before) fault("the name of an attribute is missing");
  const bool by_test = arguments.positional.size() > before;
  const String name = by_test ? text_argument(arguments.positional[before]) : String();
  const Arguments rest = rest_of(arguments, before + 1);
  Values out;
  for (const Value& item : items_or_none(interpreter, subject)) {
    const Value value =
        by_attribute ? attribute_of(interpreter, item, arguments.positional[0]) : item;
    const bool holds = by_test ? interpreter.test(name.bytes(), value, rest) : value.truth();
    if (holds == wanted) out.push_back(item);
  }
  return Value::list(std::move(out), ListKind::generator);
}

Value sum(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"attribute", "start"});
  Value total = given.has(1) ? given[1] : Value(int64_t{0});
  for (const Value& item : items_of(subject, interpreter.budget())) {
    const Value* path = given.given(0);
    total = binary("+", total, path != nullptr ? attribute_of(interpreter, item, *path) : item,
                   interpreter.budget());
  }
  return total;
}

Value batch(Interpreter& interpreter, const Value& subject, const Arguments& arguments) {
  const Parameters given(arguments, {"linecount", "fill_with"});
  const int64_t size = given.integer(0, 0);
  if (size < 1) fault("batches need a size of at least 1");
  Values out, line;
  for (const Value& item : items_of(subject, interpreter.budget())) {
    if (std::ssize(line) == size) out.push_back(Value::list(std::exchange(line, {})));
    line.push_back(item);
  }
  if (const Value* fill = given.given(1); fill != nullptr && !line.empty()) {
    interpreter.budget().check_length(static_cast<size_t>(size));
    interpreter.budget().spend(16 * static_cast<size_t>(size));
    line.resize(static_cast<size_t>(size), *fill);
  }
  if (!line.empty()) out.push_back(Value::list(std::move(line)));
  return Value::list(std::move(out), ListKind::generator);
}

constexpr auto kListFilters = std::to_array<std::pair<std::string_view, Filter>>({
    {"attr", attr},
    {"batch", batch},
    {"count", length},
    {"dictsort", dictsort},
    {"first", first},
    {"groupby", groupby},
    {"items", item_pairs},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reverse},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
});

}  // namespace

Filter find_list_filter(std::string_view name) {
  const auto* const found = std::find_if(kListFilters.begin(), kListFilters.end(),
                                         [&](const auto& filter) { return filter.first == name; });
  return found == kListFilters.end() ? nullptr : found->second;
}

}  // namespace longhaul::jinja
