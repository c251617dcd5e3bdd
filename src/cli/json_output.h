#pragma once
// What `--json` prints or writes.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace longhaul {

/// Indented, with a newline at its end; broken UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& value);
/// The same on standard output.
void print_json(const nlohmann::ordered_json& value);

}  // namespace longhaul
