#include "text/canonical_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/units.h"

namespace longhaul {
namespace {

void check_range(double number, const NumberRange& range, auto shown) {
  if (number >= range.least && number <= range.most) return;
  user_error("from {} to {}{}{}", shown(range.least), shown(range.most),
             range.unit.empty() ? "" : " ", range.unit);
}

}  // namespace

std::string canonical_integer(std::string_view value, const NumberRange& range) {
  int64_t number = 0;
  if (!parse_number(value, number)) user_error("a whole number");
  check_range(static_cast<double>(number), range,
              [](double x) { return with_commas(static_cast<int64_t>(x)); });
  return fmt::format("{}", number);
}

std::string canonical_real(std::string_view value, const NumberRange& range) {
  double number = 0;
  if (!parse_number(value, number) || !std::isfinite(number)) user_error("a number");
  check_range(number, range, [](double x) { return fmt::format("{}", x); });
  return fmt::format("{}", number);
}

std::string canonical_flag(std::string_view value) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (value == yes) return "true";
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (value == no) return "false";
  }
  user_error("true or false");
}

std::string canonical_choice(std::string_view value, std::span<const std::string_view> all) {
  if (std::find(all.begin(), all.end(), value) != all.end()) return std::string(value);
  std::string names;
  for (size_t i = 0; i < all.size(); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 == all.size() ? " or " : ", ", all[i]);
  }
  user_error("{}", names);
}

}  // namespace longhaul
