#pragma once
// Settings of a method that were found for one model by a search or by training: a file
// METHOD.json in the model's folder (beside a .gguf file: NAME.METHOD.json), as
//
//   {"options": {"theta": "0.9/0.8", "heads": "...", "gates": {"file": "gates.tsv"}}, ...}
//
// Its options replace the defaults; what `--attention` names replaces both.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace longhaul {

/// Of the model whose files begin with `prefix` (ModelShape::profile_prefix).
std::filesystem::path profile_path(const std::string& prefix, std::string_view method);

/// The options of the profile at profile_path(); none when there is no such file.
/// {"file": NAME} becomes a path beside the profile. Throws UserError naming method, file and key.
std::map<std::string, std::string> read_profile(const std::string& prefix, std::string_view method);

}  // namespace longhaul
