#pragma once
// Files that survive a power failure, not only the end of the process.

#include <filesystem>
#include <string>
#include <string_view>

namespace longhaul {

// All functions throw UserError: "PATH: cannot be written: REASON".

/// Writes all of `text` to an open file.
void write_all(int file, std::string_view text, const std::filesystem::path& path);
/// Waits until the written data is on the disk.
void sync_file(int file, const std::filesystem::path& path);
/// Waits for the entries of a folder, after a file was created or renamed in it. An empty path is
/// the current folder, as the parent of a bare name.
void sync_folder(const std::filesystem::path& folder);
/// Replaces the contents of the file by `text`. At any moment either the old or the new file
/// exists. It first writes a file beside it (base/part_file.h), which it removes on failure.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// Refuses, before any work, paths that certainly cannot be written: a folder, or a file in a
/// folder that does not exist or is not writable.
void expect_writable(const std::filesystem::path& path);

/// Throws "PATH: cannot be written: " with errno's reason.
[[noreturn]] void refuse_write(const std::filesystem::path& path);

}  // namespace longhaul
