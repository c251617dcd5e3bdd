#pragma once
// Finds the folder in which `longhaul pull` stores models.

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// Returns the user's folder for models, or the folder for all users if `system` is true. Creates
/// the folder if necessary. Throws UserError if it cannot be created or written.
std::filesystem::path make_cache_folder(bool system = false);

/// Throws UserError if the folder has fewer than `bytes` bytes of free space.
void check_space(const std::filesystem::path& folder, size_t bytes);

}  // namespace longhaul
