#pragma once
// Keywords and limits of schemas.

#include <cstdint>
#include <string_view>
#include <utility>

#include "grammar/schema_merge.h"

namespace longhaul::grammar {

constexpr size_t kMostListedItems = 256;

/// Returns whether a keyword restricts values in a way that is not supported. Unknown names
/// restrict nothing.
bool is_unsupported_keyword(std::string_view keyword);

/// Returns the smallest and the largest count. The largest count is kUnlimited if the schema does
/// not limit it. Throws UserError if a count is not a whole number from 0 to 10 million.
std::pair<int64_t, int64_t> count_limits(const Schema& schema, const char* least,
                                         const char* greatest);

}  // namespace longhaul::grammar
