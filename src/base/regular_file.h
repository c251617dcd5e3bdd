#pragma once

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// Opens a file to be read, and only a regular one: a pipe in its place would make the program wait
/// for ever. The descriptor is the caller's; `bytes` receives the size. Throws UserError ("FILE:
/// cannot open: REASON", "FILE: not a regular file").
int open_regular_file(const std::filesystem::path& path, size_t* bytes);

}  // namespace longhaul
