#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace longhaul {

/// Parses a small JSON file whose top level is an object (settings, an index; not tokenizer.json).
/// Throws UserError with the file's name if it is missing, not JSON, nested deeper than 64 or over
/// 64 MiB.
nlohmann::json read_json_file(const std::filesystem::path& path);
/// Variant for a file whose top level is a list.
nlohmann::json read_json_list(const std::filesystem::path& path);

}  // namespace longhaul
