#pragma once
// Measures how fast session files of a folder are loaded.

#include <cstddef>
#include <filesystem>

namespace longhaul::serve {

/// Name of the file with which the speed is measured. It has a name only for a moment.
inline constexpr const char* kSpeedFile = "speed";
/// Bytes that are read. The duration of shorter loads says little about the speed.
inline constexpr size_t kMeasuredBytes = size_t{8} << 20;

/// Returns the bytes per second with which session files of this folder can be read. The best of
/// some attempts counts, because the machine may be busy. Returns 500 MB/s if the file cannot be
/// written, for example because the disk is full.
double load_speed_of(const std::filesystem::path& folder);

}  // namespace longhaul::serve
