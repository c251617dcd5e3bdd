#include "grammar/number_range.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace longhaul::grammar {
namespace {

constexpr int64_t kMostDigits = 20;
constexpr int kMostBoundDigits = 40;

/// Expressions for numbers without a sign. Bounds refer to absolute values.
class RangeWriter {
 public:
  RangeWriter(bool integer, Syntax& syntax) : integer_(integer), syntax_(syntax) {}

  /// Null: no bound.
  Expression between(const NumberBound* low, const NumberBound* high) {
    std::vector<Expression> parts;
    const size_t shortest = low != nullptr ? low->value.whole.size() : 0;
    const size_t longest =
        high != nullptr ? high->value.whole.size() : std::max<size_t>(kMostDigits, shortest);
    for (size_t digits = shortest; digits <= longest; ++digits) {
      low_ = digits == shortest ? low : nullptr;
      high_ = digits == longest ? high : nullptr;
      if (digits > 0) {
        parts.push_back(whole(0, digits, low_ != nullptr, high_ != nullptr));
        continue;
      }
      parts.push_back(
          syntax_.sequence({syntax_.text("0"), fraction(low_ != nullptr, high_ != nullptr)}));
    }
    return syntax_.choice(parts);
  }

 private:
  Expression digit(int low, int high) {
    if (low > high) return syntax_.nothing();
    return syntax_.bytes(static_cast<uint8_t>('0' + low), static_cast<uint8_t>('0' + high));
  }
  Expression digits(int64_t low, int64_t high) { return syntax_.repeat(digit(0, 9), low, high); }

  /// Digits before the point from `at` on. `above` and `below`: all digits so far equal those of
  /// the bound.
  Expression whole(size_t at, size_t count, bool above, bool below) {
    if (at == count) return fraction(above, below);
    const int least = above ? low_->value.whole[at] - '0' : at == 0 ? 1 : 0;
    const int most = below ? high_->value.whole[at] - '0' : 9;
    return branch(
        least, most, above, below, [&](bool a, bool b) { return whole(at + 1, count, a, b); },
        [&] {
          return syntax_.sequence({digits_left(count - at - 1), fraction(false, false)});
        });
  }
  Expression digits_left(size_t count) {
    return digits(static_cast<int64_t>(count), static_cast<int64_t>(count));
  }

  /// The next digit is free strictly between the bounds, and at a bound the comparison continues.
  template <class Tight, class Free>
  Expression branch(int least, int most, bool above, bool below, Tight tight, Free free) {
    if (least > most) return syntax_.nothing();
    if (above && below && least == most) {
      return syntax_.sequence({digit(least, least), tight(true, true)});
    }
    std::vector<Expression> parts;
    if (above) parts.push_back(syntax_.sequence({digit(least, least), tight(true, false)}));
    if (below) parts.push_back(syntax_.sequence({digit(most, most), tight(false, true)}));
    const Expression between = digit(least + (above ? 1 : 0), most - (below ? 1 : 0));
    if (between != syntax_.nothing()) parts.push_back(syntax_.sequence({between, free()}));
    return syntax_.choice(parts);
  }

  /// The part after the digits before the point.
  Expression fraction(bool above, bool below) {
    const bool ends = may_end(0, above, below);
    if (integer_) {
      // An integer equals a bound only if the bound has no fraction, which `may_end` considers. One
      // with the digits of a fractional upper bound is below it.
      return ends ? syntax_.empty() : syntax_.nothing();
    }
    const Expression more = syntax_.sequence({syntax_.text("."), fraction_digits(0, above, below)});
    return ends ? syntax_.optional(more) : more;
  }

  char digit_of(const NumberBound* bound, size_t at) const {
    return at < bound->value.fraction.size() ? bound->value.fraction[at] : '0';
  }

  /// Whether a number that equals the bounds so far may end before digit `at` after the point.
  bool may_end(size_t at, bool above, bool below) const {
    if (above && (low_->value.fraction.size() > at || low_->excluded)) return false;
    if (below && high_->value.fraction.size() <= at && high_->excluded) return false;
    return true;
  }

  /// At least one digit after the point, from number `at` on.
  Expression fraction_digits(size_t at, bool above, bool below) {
    const size_t end =
        std::max(above ? low_->value.fraction.size() : 0, below ? high_->value.fraction.size() : 0);
    const int64_t left = std::max<int64_t>(1, kMostDigits - static_cast<int64_t>(at));
    if (!above && !below) return digits(1, left);
    if (at >= end) {  // the bounds have no further digits
      const Expression zeros = syntax_.repeat(digit(0, 0), 1, left);
      if (below) return may_end(at, above, below) ? zeros : syntax_.nothing();
      if (!low_->excluded) return digits(1, left);
      return syntax_.sequence({syntax_.repeat(digit(0, 0), 0, left), digit(1, 9), digits(0, left)});
    }
    const int least = above ? digit_of(low_, at) - '0' : 0;
    const int most = below ? digit_of(high_, at) - '0' : 9;
    return branch(
        least, most, above, below,
        [&](bool a, bool b) {
          const Expression more = fraction_digits(at + 1, a, b);
          return may_end(at + 1, a, b) ? syntax_.optional(more) : more;
        },
        [&] { return digits(0, left); });
  }

  const bool integer_;
  Syntax& syntax_;
  const NumberBound* low_ = nullptr;
  const NumberBound* high_ = nullptr;
};

bool is_zero(const Decimal& d) { return d.whole.empty() && d.fraction.empty(); }

Expression free_number(bool integer, Syntax& syntax) {
  const Expression any = syntax.bytes('0', '9');
  const Expression whole = syntax.choice(
      {syntax.text("0"),
       syntax.sequence({syntax.bytes('1', '9'), syntax.repeat(any, 0, kMostDigits - 1)})});
  const Expression sign = syntax.optional(syntax.text("-"));
  if (integer) return syntax.sequence({sign, whole});
  const Expression fraction =
      syntax.sequence({syntax.text("."), syntax.repeat(any, 1, kMostDigits)});
  const Expression exponent =
      syntax.sequence({syntax.choice({syntax.text("e"), syntax.text("E")}),
                       syntax.optional(syntax.choice({syntax.text("+"), syntax.text("-")})),
                       syntax.repeat(any, 1, 3)});
  return syntax.sequence({sign, whole, syntax.optional(fraction), syntax.optional(exponent)});
}

std::optional<NumberBound> mirrored(const std::optional<NumberBound>& bound) {
  if (!bound) return {};
  NumberBound other = *bound;
  other.value.negative = !other.value.negative;
  return other;
}

/// The numbers at or above zero of a range.
Expression not_negative(const NumberRange& range, Syntax& syntax) {
  const NumberBound* low = range.low ? &*range.low : nullptr;
  const NumberBound* high = range.high ? &*range.high : nullptr;
  if (high != nullptr && (high->value.negative || (is_zero(high->value) && high->excluded))) {
    return syntax.nothing();
  }
  if (low != nullptr && (is_zero(low->value) ? !low->excluded : low->value.negative)) low = nullptr;
  return RangeWriter(range.integer, syntax).between(low, high);
}

}  // namespace

Decimal parse_decimal(const std::string& json_number) {
  Decimal d;
  size_t at = 0;
  if (json_number.starts_with('-')) {
    d.negative = true;
    ++at;
  }
  const size_t mark = json_number.find_first_of("eE");
  const std::string digits = json_number.substr(at, mark == std::string::npos ? mark : mark - at);
  const long exponent =
      mark == std::string::npos ? 0 : std::strtol(json_number.c_str() + mark + 1, nullptr, 10);
  const size_t point = digits.find('.');
  std::string all = digits.substr(0, point);
  long before = static_cast<long>(all.size()) + exponent;
  if (point != std::string::npos) all += digits.substr(point + 1);
  if (all.find_first_not_of('0') == std::string::npos) return {};  // also -0
  if (std::labs(before) > kMostBoundDigits || all.size() > kMostBoundDigits) {
    user_error("the bound {} has more than {} digits", json_number, kMostBoundDigits);
  }
  if (before < 0) {
    all.insert(0, static_cast<size_t>(-before), '0');
    before = 0;
  }
  if (all.size() < static_cast<size_t>(before)) all.resize(static_cast<size_t>(before), '0');
  d.whole = all.substr(0, static_cast<size_t>(before));
  d.fraction = all.substr(static_cast<size_t>(before));
  d.whole.erase(0, std::min(d.whole.find_first_not_of('0'), d.whole.size()));
  while (d.fraction.ends_with('0')) d.fraction.pop_back();
  return d;
}

Expression number_expression(const NumberRange& range, Syntax& syntax) {
  if (!range.low && !range.high) return free_number(range.integer, syntax);
  NumberRange below_zero{mirrored(range.high), mirrored(range.low), range.integer};
  // Zero itself is written without a sign.
  const NumberBound zero{{}, true};
  const bool positive_low =
      below_zero.low && !below_zero.low->value.negative && !is_zero(below_zero.low->value);
  if (!positive_low) below_zero.low = zero;
  return syntax.choice({not_negative(range, syntax),
                        syntax.sequence({syntax.text("-"), not_negative(below_zero, syntax)})});
}

}  // namespace longhaul::grammar
