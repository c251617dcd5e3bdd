#pragma once
// Writes files so that they survive a power failure.

#include <filesystem>
#include <string>
#include <string_view>

namespace longhaul {

// All functions throw UserError "PATH: cannot be written: REASON" on failure. `file` is a file
// descriptor.

/// Writes all of `text` to an open file.
void write_all(int file, std::string_view text, const std::filesystem::path& path);
/// Waits until the written data is on the disk.
void sync_file(int file, const std::filesystem::path& path);
/// Waits until the entries of a folder are on the disk. Call it after a file was created or renamed
/// in the folder. An empty path means the current folder, because the parent path of a bare file
/// name is empty.
void sync_folder(const std::filesystem::path& folder);
/// Replaces the contents of a file by `text`. At any moment either the old or the new contents
/// exist. The text is first written to a temporary file (base/part_file.h). The temporary file is
/// removed on failure.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// Checks that a path can be written. Throws if the path is a folder, or if its folder does not
/// exist or is not writable. Call it before a long computation.
void expect_writable(const std::filesystem::path& path);

/// Throws "PATH: cannot be written: " with the reason from errno.
[[noreturn]] void refuse_write(const std::filesystem::path& path);

}  // namespace longhaul
