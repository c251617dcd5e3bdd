#pragma once
// Where pulled models go.

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// The user's cache folder, made where it is not there yet. Throws UserError.
std::filesystem::path make_cache_folder();

/// Throws UserError when fewer than `bytes` are free there.
void check_space(const std::filesystem::path& folder, size_t bytes);

}  // namespace longhaul
