#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace longhaul {

/// The object "options" of a JSON file, with its values as texts: {"options": {"theta": "0.9/0.8",
/// "stride": 8, "gates": {"file": "gates.tsv"}}, ...}. {"file": NAME} becomes a path in the folder
/// of the JSON file. Throws UserError with the file and the key.
std::map<std::string, std::string> read_json_options(const std::filesystem::path& path);

}  // namespace longhaul
