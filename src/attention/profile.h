#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "text/json_options.h"

namespace longhaul {

/// The profile of a method contains settings found for one model by a search or by training. It is
/// a file METHOD.json in the model's folder (NAME.METHOD.json beside a .gguf file), in this form:
///
///   {"options": {"theta": "0.9/0.8", "heads": "...", "gates": {"file": "gates.tsv"}}, ...}
///
/// With "only_with": {"theta": "form=paper"} an option applies only if another option has a value.
/// Its options replace the defaults, and options in `--attention` replace both. A file is named as
/// {"file": NAME} only, so that a profile from another author can read no other file. `prefix` is
/// the common prefix of the model's file names (ModelShape::profile_prefix).
std::filesystem::path profile_path(const std::string& prefix, std::string_view method);
/// The options in that file (text/json_options.h); none if the file does not exist. Throws
/// UserError with method, file and key.
std::map<std::string, JsonOption> read_profile(const std::string& prefix, std::string_view method);

}  // namespace longhaul
