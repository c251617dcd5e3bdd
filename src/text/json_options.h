#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace longhaul {

/// The value of an option, as text.
struct JsonOption {
  std::string text;
  /// Whether the value was {"file": NAME}. The text is then a path in the folder of the JSON file.
  bool is_file = false;
  std::string only_with;  ///< KEY=VALUE of another option that this option requires; empty: none
};

/// Reads the object "options" of a JSON file: {"options": {"theta": "0.9/0.8", "stride": 8,
/// "gates": {"file": "gates.tsv"}}, ...}. An object "only_with" such as {"stride": "theta=0.8"}
/// names options that apply only if another option has a given value. Throws UserError with the
/// file and the key.
std::map<std::string, JsonOption> read_json_options(const std::filesystem::path& path);

}  // namespace longhaul
