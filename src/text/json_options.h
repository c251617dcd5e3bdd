#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace longhaul {

/// A value as text.
struct JsonOption {
  std::string text;
  bool is_file = false;  ///< {"file": NAME}: the text is a path in the folder of the JSON file
};

/// The object "options" of a JSON file: {"options": {"theta": "0.9/0.8", "stride": 8, "gates":
/// {"file": "gates.tsv"}}, ...}. Throws UserError with the file and the key.
std::map<std::string, JsonOption> read_json_options(const std::filesystem::path& path);

}  // namespace longhaul
