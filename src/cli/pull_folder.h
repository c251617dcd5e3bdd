#pragma once
// The folder in which pulled models are stored.

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// Returns the user's cache folder, or the folder of models for all users if `system` is true. It
/// is created if necessary. Throws UserError if it cannot be created or written.
std::filesystem::path make_cache_folder(bool system = false);

/// Throws UserError if the folder has fewer than `bytes` bytes of free space.
void check_space(const std::filesystem::path& folder, size_t bytes);

}  // namespace longhaul
