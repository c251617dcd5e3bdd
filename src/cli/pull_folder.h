#pragma once
// The folder for pulled models.

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// The user's cache folder, created if necessary. Throws UserError.
std::filesystem::path make_cache_folder();

/// Throws UserError if fewer than `bytes` bytes are free there.
void check_space(const std::filesystem::path& folder, size_t bytes);

}  // namespace longhaul
