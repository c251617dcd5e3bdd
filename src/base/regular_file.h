#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace longhaul {

/// Opens a regular file for reading and returns its descriptor, which the caller owns. `bytes`
/// receives the size. Files that are not regular are rejected, because reading a pipe could wait
/// forever. Throws UserError ("FILE: cannot open: REASON", "FILE: not a regular file").
int open_regular_file(const std::filesystem::path& path, size_t* bytes);

/// Reads a whole regular file. Throws UserError if it cannot be opened, is not regular, or has more
/// than `most` bytes.
std::string read_regular_file(const std::filesystem::path& path, size_t most);
/// Reads a whole regular file. Returns nullopt in the cases in which read_regular_file() throws.
std::optional<std::string> read_if_regular(const std::filesystem::path& path, size_t most);

/// Opens a file that belongs to this program for reading and writing. Creates it if it does not
/// exist. Links are not followed. Throws UserError "FILE: not a regular file" for pipes and
/// devices, "FILE: has other names too" for files with a second hard link, and "FILE: cannot be
/// written: REASON" if opening fails.
int open_own_file(const std::filesystem::path& path);

}  // namespace longhaul
