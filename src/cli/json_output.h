#pragma once
// Prints the output of `--json`.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace longhaul {

/// Returns indented JSON with a newline at its end. Invalid UTF-8 becomes U+FFFD, and characters
/// that control a terminal are escaped.
std::string json_text(const nlohmann::ordered_json& value);
/// Prints json_text() to standard output.
void print_json(const nlohmann::ordered_json& value);
/// Prints the value on one line (JSON lines), with the same escapes.
void print_json_line(const nlohmann::ordered_json& value);

}  // namespace longhaul
