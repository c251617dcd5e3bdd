#pragma once
// Files that outlive a power cut, not only the process.

#include <filesystem>
#include <string>
#include <string_view>

namespace longhaul {

// UserError: "PATH: cannot be written: REASON".

/// Writes all of `text` to an open file.
void write_all(int file, std::string_view text, const std::filesystem::path& path);
/// Waits until what was written is on the disk.
void sync_file(int file, const std::filesystem::path& path);
/// The same for the entries of a folder, after a file was created or renamed in it. An empty path
/// is the current folder, as the parent of a bare name.
void sync_folder(const std::filesystem::path& folder);
/// The file with `text` in place of what it held; at any moment one or the other is there. It is
/// written beside it first (base/part_file.h), and that is gone when it fails.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// Refuses, before any work, what certainly could not be written: a folder, a file in a folder that
/// is not there or may not be written to.
void expect_writable(const std::filesystem::path& path);

/// "PATH: cannot be written: " and errno's reason.
[[noreturn]] void refuse_write(const std::filesystem::path& path);

}  // namespace longhaul
