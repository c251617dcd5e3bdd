#include "jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "jinja/formatting.h"
#include "jinja/substrings.h"

namespace longhaul::jinja {
namespace {

[[noreturn]] void unsupported(std::string_view op, const Value& left, const Value& right) {
  fault("unsupported operand type(s) for {}: '{}' and '{}'", op, left.type(), right.type());
}
[[noreturn]] void out_of_range() { fault("a number is out of range"); }

int64_t floor_divided(int64_t a, int64_t b) {
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) out_of_range();
    return negated;
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t powered(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent-- > 0) {
    if (base == 0 || base == 1) return base;
    if (base == -1) return exponent % 2 == 0 ? -1 : 1;
    if (__builtin_mul_overflow(result, base, &result)) out_of_range();
  }
  return result;
}

Value of_integers(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    if (b < 0) return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
    result = powered(a, b);
  } else {
    if (b == 0) fault("division by zero");
    if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
    const int64_t quotient = floor_divided(a, b);
    result = op == "//" ? quotient : b == -1 ? 0 : a - quotient * b;
  }
  if (overflow) out_of_range();
  return Value(result);
}

Value of_reals(std::string_view op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return Value(std::pow(a, b));
  if (b == 0) fault("division by zero");
  if (op == "/") return Value(a / b);
  if (op == "//") return Value(std::floor(a / b));
  const double rest = std::fmod(a, b);
  return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Value joined(const Value& left, const Value& right, Budget& budget) {
  if (left.is(Kind::string) && right.is(Kind::string)) {
    budget.check_length(left.string().size() + right.string().size());
    budget.spend(left.string().weight() + right.string().weight());
    const bool markup = left.string().markup() || right.string().markup();
    String text = markup ? escaped(left.string()) : left.string();
    text.append(markup ? escaped(right.string()) : right.string());
    budget.check_length(text.size());
    return Value(std::move(text));
  }
  const bool lists = left.is(Kind::list) && right.is(Kind::list) &&
                     left.list().kind == right.list().kind &&
                     left.list().kind != ListKind::generator;
  if (!lists && left.is(Kind::string)) {
    fault("can only concatenate str (not \"{}\") to str", right.type());
  }
  if (!lists) unsupported("+", left, right);
  budget.spend(16 * (left.list().items.size() + right.list().items.size()));
  Values items = left.list().items;
  items.insert(items.end(), right.list().items.begin(), right.list().items.end());
  return Value::list(std::move(items), left.list().kind);
}

/// A text or list repeated `count` times.
Value repeated(const Value& value, int64_t count, Budget& budget) {
  const size_t size = value.is(Kind::string) ? value.string().size() : value.list().items.size();
  const size_t times = size == 0 ? 0 : static_cast<size_t>(std::max<int64_t>(0, count));
  // far beyond any budget, and small enough for the product
  constexpr size_t kMost = size_t{1} << 40;
  if (times > kMost / std::max<size_t>(1, size)) fault("makes a text that is too long");
  if (value.is(Kind::string)) {
    budget.check_length(size * times);
    budget.spend(value.string().weight() * times);
    String text;
    for (size_t i = 0; i < times; ++i) text.append(value.string());
    return Value(std::move(text));
  }
  budget.spend(16 * size * times);
  Values items;
  for (size_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.list().items.begin(), value.list().items.end());
  }
  return Value::list(std::move(items), value.list().kind);
}

bool repeats(const Value& value, const Value& count) {
  const bool sequence =
      value.is(Kind::string) || (value.is(Kind::list) && value.list().kind != ListKind::generator);
  return sequence && count.integer().has_value();
}

/// The bounds of Python's slices in a sequence of `size` elements.
struct SliceRange {
  int64_t begin, end, step;
};

SliceRange slice_range(int64_t size, const Value* begin, const Value* end, const Value* step) {
  const auto number = [](const Value* value) -> std::optional<int64_t> {
    if (value == nullptr || value->is(Kind::none)) return std::nullopt;
    check_defined(*value);
    if (!value->integer()) fault("slice indices must be integers or None");
    return value->integer();
  };
  const int64_t by = number(step).value_or(1);
  if (by == 0) fault("slice step cannot be zero");
  const int64_t least = by > 0 ? 0 : -1, most = by > 0 ? size : size - 1;
  const auto bound = [&](const Value* value, int64_t when_absent) {
    const auto given = number(value);
    if (!given) return when_absent;
    const int64_t from_front = *given < 0 ? std::max(*given, -size - 1) + size : *given;
    return std::clamp(from_front, least, most);
  };
  return {bound(begin, by > 0 ? least : most), bound(end, by > 0 ? most : least), by};
}

}  // namespace

Value unary(std::string_view op, const Value& value) {
  check_defined(value);
  if (!value.is_number()) fault("bad operand type for unary {}: '{}'", op, value.type());
  if (op == "+") return value.is(Kind::real) ? value : Value(*value.integer());
  if (value.is(Kind::real)) return Value(-value.real());
  return of_integers("-", 0, *value.integer());
}

Value binary(std::string_view op, const Value& left, const Value& right, Budget& budget) {
  budget.spend();
  check_defined(left);
  if (op == "%" && left.is(Kind::string))
    return Value(percent_format(left.string(), right, budget));
  check_defined(right);
  if (left.is_number() && right.is_number()) {
    const auto a = left.integer(), b = right.integer();
    return a && b ? of_integers(op, *a, *b) : of_reals(op, left.real(), right.real());
  }
  if (op == "+") return joined(left, right, budget);
  if (op == "*" && repeats(left, right)) return repeated(left, *right.integer(), budget);
  if (op == "*" && repeats(right, left)) return repeated(right, *left.integer(), budget);
  unsupported(op, left, right);
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  switch (container.kind()) {
    case Kind::undefined:
      return false;
    case Kind::string:
      check_defined(item);
      if (!item.is(Kind::string)) {
        fault("'in <string>' requires string as left operand, not {}", item.type());
      }
      budget.spend(container.string().weight());
      return find_bytes(container.bytes(), item.bytes()) != std::string_view::npos;
    case Kind::dict:
      return container.dict().find(item, budget) != nullptr;
    case Kind::list: {
      const Values& items = container.list().items;
      budget.spend(items.size());
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& other) { return equal(other, item, budget); });
    }
    default:
      fault("argument of type '{}' is not iterable", container.type());
  }
}

bool compare(std::string_view op, const Value& left, const Value& right, Budget& budget) {
  budget.spend();
  if (op == "==") return equal(left, right, budget);
  if (op == "!=") return !equal(left, right, budget);
  if (op == "in") return contains(right, left, budget);
  if (op == "not in") return !contains(right, left, budget);
  const bool nan = (left.is(Kind::real) && std::isnan(left.real())) ||
                   (right.is(Kind::real) && std::isnan(right.real()));
  if (nan && left.is_number() && right.is_number()) return false;
  if (op == "<") return less(left, right, budget);
  if (op == ">") return less(right, left, budget);
  return op == "<=" ? !less(right, left, budget) : !less(left, right, budget);
}

Value slice(const Value& object, const Value* begin, const Value* end, const Value* step,
            Budget& budget) {
  check_defined(object);
  if (object.is(Kind::string)) {
    const String& text = object.string();
    budget.spend(text.weight());
    const CharacterOffsets offsets(text.bytes());
    const SliceRange range = slice_range(static_cast<int64_t>(offsets.count()), begin, end, step);
    const auto byte_of = [&](int64_t i) { return offsets.byte_of(static_cast<size_t>(i)); };
    if (range.step == 1) {
      return Value(range.begin < range.end ? text.slice(byte_of(range.begin), byte_of(range.end))
                                           : String());
    }
    String out;
    for (int64_t i = range.begin; range.step > 0 ? i < range.end : i > range.end;) {
      out.append(text, byte_of(i), byte_of(i + 1));
      if (__builtin_add_overflow(i, range.step, &i)) break;
    }
    return Value(std::move(out));
  }
  if (!object.is(Kind::list) || object.list().kind == ListKind::generator) {
    fault("'{}' object is not subscriptable", object.type());
  }
  const Values& items = object.list().items;
  budget.spend(16 * items.size());
  const SliceRange range = slice_range(std::ssize(items), begin, end, step);
  Values out;
  for (int64_t i = range.begin; range.step > 0 ? i < range.end : i > range.end;) {
    out.push_back(items[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, range.step, &i)) break;
  }
  return Value::list(std::move(out), object.list().kind);
}

Value element(const Value& object, int64_t index, Budget& budget) {
  const bool text = object.is(Kind::string);
  const auto missing = [&] {
    return Value::undefined(fmt::format("{} object has no element {}", object.type(), index));
  };
  if (!text) {
    if (!object.is(Kind::list) || object.list().kind == ListKind::generator) return missing();
    const Values& items = object.list().items;
    const int64_t at = index < 0 ? index + std::ssize(items) : index;
    if (at < 0 || at >= std::ssize(items)) return missing();
    return items[static_cast<size_t>(at)];
  }
  const std::string_view bytes = object.bytes();
  budget.spend(bytes.size());
  const CharacterOffsets offsets(bytes);
  const auto count = static_cast<int64_t>(offsets.count());
  const int64_t at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) return missing();
  const auto character = static_cast<size_t>(at);
  return Value(object.string().slice(offsets.byte_of(character), offsets.byte_of(character + 1)));
}

}  // namespace longhaul::jinja
