#include "attention/method_options.h"

#include "base/error.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

template <class Number>
Number number_of(const std::string& value) {
  Number number = 0;
  const bool whole = parse_number(value, number);
  LH_ASSERT(whole);
  return number;
}

}  // namespace

const std::string& MethodOptions::text(std::string_view key) const {
  const auto found = values_.find(key);
  LH_ASSERT(found != values_.end());
  return found->second;
}

int64_t MethodOptions::integer(std::string_view key) const { return number_of<int64_t>(text(key)); }

double MethodOptions::real(std::string_view key) const { return number_of<double>(text(key)); }

std::optional<int64_t> MethodOptions::optional_integer(std::string_view key) const {
  return text(key) == "auto" ? std::nullopt : std::optional(integer(key));
}

std::optional<double> MethodOptions::optional_real(std::string_view key) const {
  return text(key) == "auto" ? std::nullopt : std::optional(real(key));
}

bool MethodOptions::flag(std::string_view key) const {
  const std::string& value = text(key);
  LH_ASSERT(value == "true" || value == "false");
  return value == "true";
}

}  // namespace longhaul
