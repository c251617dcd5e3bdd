#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace longhaul {

/// The profile of a method: settings that were found for one model by a search or by training, a
/// file METHOD.json in the model's folder (beside a .gguf file: NAME.METHOD.json), as
///
///   {"options": {"theta": "0.9/0.8", "heads": "...", "gates": {"file": "gates.tsv"}}, ...}
///
/// Its options replace the defaults; what `--attention` names replaces both. `prefix` is what the
/// names of the model's files begin with (ModelShape::profile_prefix).
std::filesystem::path profile_path(const std::string& prefix, std::string_view method);
/// The options of that file (text/json_options.h); none when there is no such file. Throws
/// UserError naming method, file and key.
std::map<std::string, std::string> read_profile(const std::string& prefix, std::string_view method);

}  // namespace longhaul
