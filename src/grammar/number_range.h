#pragma once
// Creates expressions for numbers between two bounds.

#include <optional>
#include <string>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// A decimal number: its digits before and after the point, without redundant zeros. Zero has no
/// digits before the point.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;
};

/// Parses a JSON number. Throws UserError if its exponent makes it longer than 40 digits.
Decimal parse_decimal(const std::string& json_number);

struct NumberBound {
  Decimal value;
  bool excluded = false;
};

struct NumberRange {
  std::optional<NumberBound> low, high;
  bool integer = false;
};

/// Returns an expression for JSON numbers in a range. Integers have at most 20 digits. Other
/// numbers have at most 20 digits before and 20 after the point. They may have an exponent only if
/// there are no bounds.
Expression number_expression(const NumberRange& range, Syntax& syntax);

}  // namespace longhaul::grammar
