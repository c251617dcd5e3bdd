#pragma once
// Writes profiles. A profile is a file next to a model. It contains options of an attention method
// that a command has found for this model, and is used whenever the method runs with the model
// (attention/method_spec.h).

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// Throws UserError if one of the files exists, because profiles are never overwritten. Call it
/// before the search for the options, because this search takes long.
void refuse_to_replace(std::span<const std::filesystem::path> files);

/// Writes a profile. `found_by` is the command that has found the options; the file mentions it for
/// its readers. `only_with` names options that apply only if another option has a given value
/// (text/json_options.h).
void write_profile(const std::filesystem::path& file, std::string_view method,
                   std::string_view found_by, const nlohmann::ordered_json& options,
                   const nlohmann::ordered_json& only_with = {});

/// Returns the options in the form of --attention: "key=value,...".
std::string option_text(const nlohmann::ordered_json& options);

}  // namespace longhaul
