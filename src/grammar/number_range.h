#pragma once
// Numbers between two bounds, as texts.

#include <optional>
#include <string>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Digits before and after the point, without zeros that change nothing. Zero has no digits before
/// the point.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;
};

/// UserError if it has an exponent that makes it longer than 40 digits.
Decimal parse_decimal(const std::string& json_number);

struct NumberBound {
  Decimal value;
  bool excluded = false;
};

struct NumberRange {
  std::optional<NumberBound> low, high;
  bool integer = false;
};

/// JSON numbers. Integers have at most 20 digits. Other numbers have at most 20 digits before and
/// after the point; only without bounds may they have an exponent.
Expression number_expression(const NumberRange& range, Syntax& syntax);

}  // namespace longhaul::grammar
