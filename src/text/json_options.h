#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace longhaul {

/// An option of an attention method as a JSON file sets it.
struct JsonOption {
  std::string text;
  /// Whether the value in the file is {"file": NAME}. `text` is then the path of the file NAME in
  /// the folder of the JSON file.
  bool is_file = false;
  /// KEY=VALUE of another option. The option applies only if the other option has this value.
  /// Empty: the option always applies.
  std::string only_with;
};

/// Reads the object "options" of a JSON file: {"options": {"theta": "0.9/0.8", "stride": 8,
/// "gates": {"file": "gates.tsv"}}, ...}. An object "only_with" such as {"stride": "theta=0.8"}
/// names options that apply only if another option has a given value. Throws a UserError that names
/// the file and the key if the file cannot be read or a value is invalid.
std::map<std::string, JsonOption> read_json_options(const std::filesystem::path& path);

}  // namespace longhaul
