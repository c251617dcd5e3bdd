#include "jinja/value.h"

#include <algorithm>
#include <cmath>

namespace longhaul::jinja {
namespace {

int deeper(int depth) {
  if (depth >= Budget::kDeepestValues) {
    fault("lists are nested deeper than {}", Budget::kDeepestValues);
  }
  return depth + 1;
}

}  // namespace

Value Object::call(Interpreter&, const Arguments&) { fault("'{}' object is not callable", type()); }

Value Value::none() {
  Value value;
  value.data_ = None{};
  return value;
}

Value Value::undefined(std::string message) {
  Value value;
  constexpr size_t kMost = 400;  // more than what is shown of it
  value.data_ =
      Undefined{make_counted<const Text>(message.data(), std::min(message.size(), kMost))};
  return value;
}

Value Value::text(std::string_view bytes, Origin origin) { return Value(String(bytes, origin)); }

Value Value::list(Values items, ListKind kind) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  Value value;
  value.data_ = make_counted<const List>(List{std::move(items), kind, deeper(depth)});
  return value;
}

Value Value::dict(Pairs items) {
  int depth = 0;
  for (const auto& [key, item] : items) depth = std::max({depth, key.depth(), item.depth()});
  Value value;
  value.data_ = make_counted<const Dict>(Dict{std::move(items), deeper(depth)});
  return value;
}

std::optional<int64_t> Value::integer() const {
  if (is(Kind::boolean)) return boolean() ? 1 : 0;
  if (is(Kind::integer)) return std::get<int64_t>(data_);
  return std::nullopt;
}

double Value::real() const {
  if (is(Kind::real)) return std::get<double>(data_);
  return static_cast<double>(integer().value());
}

std::string Value::undefined_message() const {
  const auto& message = std::get<Undefined>(data_).message;
  return message ? std::string(*message) : "value is undefined";
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      return real() != 0;
    case Kind::string:
      return !string().empty();
    case Kind::list:
      return list().kind == ListKind::generator || !list().items.empty();
    case Kind::dict:
      return !dict().items.empty();
    case Kind::object:
      return object()->defined();
  }
  return true;
}

const char* Value::type() const {
  constexpr const char* kLists[] = {"list", "tuple", "generator"};
  constexpr const char* kOthers[] = {"Undefined", "NoneType", "bool", "int", "float", "str"};
  if (is(Kind::list)) return kLists[static_cast<int>(list().kind)];
  if (is(Kind::dict)) return "dict";
  if (is(Kind::object)) return object()->type();
  return kOthers[static_cast<int>(kind())];
}

int Value::depth() const {
  if (is(Kind::list)) return list().depth;
  return is(Kind::dict) ? dict().depth : 0;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    if (name.is(Kind::string) && name.bytes() == key) return &value;
  }
  return nullptr;
}

const Value* Dict::find(const Value& key, Budget& budget) const {
  budget.spend(items.size());
  if (key.is(Kind::string)) return find(key.bytes());
  if (key.is(Kind::dict) || (key.is(Kind::list) && key.list().kind == ListKind::list)) {
    fault("unhashable type: '{}'", key.type());
  }
  for (const auto& [name, value] : items) {
    if (equal(name, key, budget)) return &value;
  }
  return nullptr;
}

void check_defined(const Value& value) {
  if (value.is(Kind::undefined)) throw Fault(value.undefined_message());
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  if (a.is_number() && b.is_number()) {
    const auto left = a.integer(), right = b.integer();
    return left && right ? *left == *right : a.real() == b.real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::string:
      if (a.string().size() != b.string().size()) return false;
      budget.spend(a.string().size());
      return a.bytes() == b.bytes();
    case Kind::list: {
      const List &left = a.list(), &right = b.list();
      if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
      budget.spend(left.items.size());
      return std::equal(left.items.begin(), left.items.end(), right.items.begin(),
                        [&](const Value& x, const Value& y) { return equal(x, y, budget); });
    }
    case Kind::dict: {
      const Dict &left = a.dict(), &right = b.dict();
      if (left.items.size() != right.items.size()) return false;
      return std::all_of(left.items.begin(), left.items.end(), [&](const auto& item) {
        const Value* other = right.find(item.first, budget);
        return other != nullptr && equal(item.second, *other, budget);
      });
    }
    case Kind::object:
      return a.object() == b.object();
    default:
      return true;  // undefined and none compare equal
  }
}

bool less(const Value& a, const Value& b, Budget& budget) {
  check_defined(a);
  check_defined(b);
  if (a.is_number() && b.is_number()) {
    const auto left = a.integer(), right = b.integer();
    return left && right ? *left < *right : a.real() < b.real();
  }
  if (a.is(Kind::string) && b.is(Kind::string)) {
    budget.spend(std::min(a.string().size(), b.string().size()));
    return a.bytes() < b.bytes();
  }
  const bool lists = a.is(Kind::list) && b.is(Kind::list) && a.list().kind == b.list().kind &&
                     a.list().kind != ListKind::generator;
  if (!lists) {
    fault("'<' not supported between instances of '{}' and '{}'", a.type(), b.type());
  }
  const Values &left = a.list().items, &right = b.list().items;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    budget.spend();
    if (!equal(left[i], right[i], budget)) return less(left[i], right[i], budget);
  }
  return left.size() < right.size();
}

Values items_of(const Value& value, Budget& budget) {
  Values items;
  switch (value.kind()) {
    case Kind::undefined:
      break;
    case Kind::list:
      budget.spend(16 * value.list().items.size());
      items = value.list().items;
      break;
    case Kind::dict:
      budget.spend(16 * value.dict().items.size());
      for (const auto& item : value.dict().items) items.push_back(item.first);
      break;
    case Kind::string: {
      const String& text = value.string();
      for (size_t at = 0; at < text.size();) {
        const size_t end = at + character_bytes(text.bytes(), at);
        budget.spend();
        items.emplace_back(text.slice(at, end));
        at = end;
      }
      break;
    }
    default:
      fault("'{}' object is not iterable", value.type());
  }
  return items;
}

}  // namespace longhaul::jinja
