#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "text/json_options.h"

namespace longhaul {

/// A profile contains options of one attention method that were found by search or training for one
/// model. It is the file METHOD.json in the model's folder, or the file NAME.METHOD.json beside
/// NAME.gguf. It has this form:
///
///   {"options": {"theta": "0.9/0.8", "heads": "...", "gates": {"file": "gates.tsv"}}, ...}
///
/// "only_with": {"theta": "form=paper"} applies the option theta only if the option `form` has the
/// value `paper`. Options of the profile take precedence over the method's defaults. Options in
/// `--attention` take precedence over both. A profile can name a file only as {"file": NAME}, so a
/// profile from another author cannot read files elsewhere.
///
/// profile_path() returns the path of a profile. `prefix` is ModelShape::profile_prefix.
std::filesystem::path profile_path(const std::string& prefix, std::string_view method);
/// Reads the options of a profile (text/json_options.h). The result is empty if the file does not
/// exist. Throws UserError; the message names the method, the file and the key.
std::map<std::string, JsonOption> read_profile(const std::string& prefix, std::string_view method);

}  // namespace longhaul
