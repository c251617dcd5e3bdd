#pragma once
// The folder for pulled models.

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// The user's cache folder, or the folder of models for all users, created if necessary. Throws
/// UserError where it cannot be made or written.
std::filesystem::path make_cache_folder(bool system = false);

/// Throws UserError if fewer than `bytes` bytes are free there.
void check_space(const std::filesystem::path& folder, size_t bytes);

}  // namespace longhaul
