#include "grammar/schema_limits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "grammar/syntax.h"

namespace longhaul::grammar {
namespace {

constexpr int64_t kMostCount = 10'000'000;

}  // namespace

bool is_unsupported_keyword(std::string_view keyword) {
  constexpr std::array<std::string_view, 20> kUnsupported = {"not",
                                                             "if",
                                                             "then",
                                                             "else",
                                                             "contains",
                                                             "minContains",
                                                             "maxContains",
                                                             "uniqueItems",
                                                             "minProperties",
                                                             "maxProperties",
                                                             "propertyNames",
                                                             "dependencies",
                                                             "dependentRequired",
                                                             "dependentSchemas",
                                                             "unevaluatedItems",
                                                             "unevaluatedProperties",
                                                             "multipleOf",
                                                             "$dynamicRef",
                                                             "$recursiveRef",
                                                             "$vocabulary"};
  return std::find(kUnsupported.begin(), kUnsupported.end(), keyword) != kUnsupported.end();
}

std::pair<int64_t, int64_t> count_limits(const Schema& schema, const char* least,
                                         const char* greatest) {
  const auto count = [&](const char* key, int64_t when_absent) -> int64_t {
    if (!schema.contains(key)) return when_absent;
    const Schema& value = schema[key];
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number < 0 || number != std::floor(number)) user_error("{} is not a whole number", key);
    if (number > static_cast<double>(kMostCount)) {
      user_error("{} is larger than {}", key, kMostCount);
    }
    return static_cast<int64_t>(number);
  };
  return {count(least, 0), count(greatest, kUnlimited)};
}

}  // namespace longhaul::grammar
