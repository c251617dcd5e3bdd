#pragma once

#include <cstddef>
#include <filesystem>

namespace longhaul {

/// Opens a file for reading, but only a regular one: a pipe would make the program wait forever.
/// The caller owns the descriptor; `bytes` receives the size. Throws UserError ("FILE: cannot open:
/// REASON", "FILE: not a regular file").
int open_regular_file(const std::filesystem::path& path, size_t* bytes);

}  // namespace longhaul
