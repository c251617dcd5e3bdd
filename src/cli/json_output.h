#pragma once
// What `--json` prints.

#include <nlohmann/json_fwd.hpp>

namespace longhaul {

/// Indented, with a newline, on standard output; broken UTF-8 becomes U+FFFD.
void print_json(const nlohmann::ordered_json& value);

}  // namespace longhaul
