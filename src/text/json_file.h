#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace longhaul {

/// Reads a small JSON file whose top level is an object, such as settings or an index (but not
/// tokenizer.json). Throws a UserError that names the file if the file is missing, is not JSON, is
/// nested deeper than 64 levels, or is larger than 64 MiB.
nlohmann::json read_json_file(const std::filesystem::path& path);
/// Like read_json_file(), for a file that Python has written: NaN, Infinity and -Infinity, which
/// are not JSON, are read as null.
nlohmann::json read_python_json_file(const std::filesystem::path& path);
/// Like read_json_file(), for a file whose top level is a list.
nlohmann::json read_json_list(const std::filesystem::path& path);

}  // namespace longhaul
