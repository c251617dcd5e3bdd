#pragma once

#include <string_view>

namespace longhaul {

/// A parsed object holds the last of two values that a key was given, and nothing of the first.
/// UserError names a key that stands twice in one object of `text`, which parse_json() has taken.
void refuse_doubled_keys(std::string_view text);

}  // namespace longhaul
