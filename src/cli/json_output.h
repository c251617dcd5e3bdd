#pragma once
// Output of `--json`.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace longhaul {

/// Indented text with a newline at its end. Broken UTF-8 becomes U+FFFD, and characters that a
/// terminal obeys are escaped.
std::string json_text(const nlohmann::ordered_json& value);
/// Prints json_text() to standard output.
void print_json(const nlohmann::ordered_json& value);
/// Prints one line (JSON lines), escaped likewise.
void print_json_line(const nlohmann::ordered_json& value);

}  // namespace longhaul
