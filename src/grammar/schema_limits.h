#pragma once
// Classifies the keywords of JSON Schema, and reads limits such as minItems and maxItems.

#include <cstdint>
#include <string_view>
#include <utility>

#include "grammar/schema_merge.h"

namespace longhaul::grammar {

constexpr size_t kMostListedItems = 256;

/// Returns whether a keyword restricts values in a way that is not supported. Keywords that JSON
/// Schema does not define restrict nothing.
bool is_unsupported_keyword(std::string_view keyword);

/// Returns the values of two keywords, such as minItems (`least`) and maxItems (`greatest`). A
/// missing `least` counts as 0, and a missing `greatest` as kUnlimited. Throws UserError if a count
/// is not a whole number from 0 to 10 million.
std::pair<int64_t, int64_t> count_limits(const Schema& schema, const char* least,
                                         const char* greatest);

}  // namespace longhaul::grammar
