#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace longhaul {

/// Opens a file for reading, but only a regular one: a pipe would make the program wait forever.
/// The caller owns the descriptor; `bytes` receives the size. Throws UserError ("FILE: cannot open:
/// REASON", "FILE: not a regular file").
int open_regular_file(const std::filesystem::path& path, size_t* bytes);

/// The bytes of a regular file. Throws UserError as above, and where it has more than `most` bytes.
std::string read_regular_file(const std::filesystem::path& path, size_t most);
/// The same for a file that is only a help: nothing where there is none that can be read.
std::optional<std::string> read_if_regular(const std::filesystem::path& path, size_t most);

/// Opens a file of ours to be read and written, and makes it where there is none. A link, a pipe, a
/// device or a file with a second name in its place is not touched: UserError ("FILE: not a regular
/// file", "FILE: has other names too", "FILE: cannot be written: REASON").
int open_own_file(const std::filesystem::path& path);

}  // namespace longhaul
