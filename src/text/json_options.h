#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace longhaul {

/// A value as text.
struct JsonOption {
  std::string text;
  bool is_file = false;   ///< {"file": NAME}: the text is a path in the folder of the JSON file
  std::string only_with;  ///< KEY=VALUE of another option with which it applies; empty: always
};

/// The object "options" of a JSON file: {"options": {"theta": "0.9/0.8", "stride": 8, "gates":
/// {"file": "gates.tsv"}}, ...}. An object "only_with": {"stride": "theta=0.8"} names options that
/// apply only if another option has a value. Throws UserError with the file and the key.
std::map<std::string, JsonOption> read_json_options(const std::filesystem::path& path);

}  // namespace longhaul
