#pragma once
// Creates expressions (grammar/syntax.h) for JSON numbers between two bounds.

#include <optional>
#include <string>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// A decimal number. `whole` has the digits before the point without leading zeros, and `fraction`
/// has those after the point without trailing zeros. Both are empty for zero.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;
};

/// Parses a JSON number. Throws UserError if it has more than 40 digits when written without an
/// exponent.
Decimal parse_decimal(const std::string& json_number);

struct NumberBound {
  Decimal value;
  bool excluded = false;
};

struct NumberRange {
  std::optional<NumberBound> low, high;
  bool integer = false;
};

/// Returns an expression for the JSON numbers in a range. Integers have at most 20 digits. Other
/// numbers have at most 20 digits before and 20 after the point. They may have an exponent only if
/// there are no bounds.
Expression number_expression(const NumberRange& range, Syntax& syntax);

}  // namespace longhaul::grammar
