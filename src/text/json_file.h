#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace longhaul {

/// Parses a small JSON file whose top is an object (settings, an index; not tokenizer.json). Throws
/// UserError naming the file when it is missing, no JSON, nested deeper than 64 or over 64 MiB.
nlohmann::json read_json_file(const std::filesystem::path& path);
/// The same for a file whose top is a list.
nlohmann::json read_json_list(const std::filesystem::path& path);

}  // namespace longhaul
