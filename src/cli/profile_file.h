#pragma once
// Profiles that commands write beside a model: settings of a method found for it
// (attention/method_spec.h).

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// Throws UserError for the first of the files that exists, because existing profiles are not
/// overwritten. Call it before the long search for settings.
void refuse_to_replace(std::span<const std::filesystem::path> files);

/// `found_by` is the command, for readers of the file. `only_with` names options that apply only if
/// another option has a value (text/json_options.h).
void write_profile(const std::filesystem::path& file, std::string_view method,
                   std::string_view found_by, const nlohmann::ordered_json& options,
                   const nlohmann::ordered_json& only_with = {});

/// Options in the form of --attention: "key=value,...".
std::string option_text(const nlohmann::ordered_json& options);

}  // namespace longhaul
