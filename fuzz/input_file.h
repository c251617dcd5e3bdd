#pragma once
// A fuzzer's input as files in memory. Each process has a folder, under /dev/shm if that exists.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace longhaul::fuzzing {

inline const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    const bool memory = std::filesystem::is_directory("/dev/shm");
    std::string pattern = (memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) +
                          "/longhaul-fuzz-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(folder(), ignored);
    });
    return std::filesystem::path(pattern);
  }();
  return path;
}

/// Path of a file that a target opens beside its input. The root is LONGHAUL_SOURCE in the
/// environment (for programs on another machine), else the repository of the build.
inline std::filesystem::path source(const char* path) {
  const char* moved = std::getenv("LONGHAUL_SOURCE");
  return std::filesystem::path(moved != nullptr ? moved : LONGHAUL_SOURCE_DIR) / path;
}

inline void write_file(const std::string& name, const uint8_t* data, size_t size) {
  std::ofstream out(folder() / name, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

/// Writes the input as a GGUF file, or, if it does not begin like one, as a folder of two files.
/// Its first two bytes split it. Returns the path to open, or an empty path if the input is too
/// short for both.
inline std::filesystem::path write_gguf_or_folder(const uint8_t* data, size_t size,
                                                  const std::string& config,
                                                  const std::string& weights) {
  if (size >= 4 && std::memcmp(data, "GGUF", 4) == 0) {
    write_file("input.gguf", data, size);
    return folder() / "input.gguf";
  }
  if (size < 2) return {};
  const size_t rest = size - 2;
  const size_t cut = std::min<size_t>(static_cast<size_t>(data[0]) | (data[1] << 8), rest);
  write_file(config, data + 2, cut);
  write_file(weights, data + 2 + cut, rest - cut);
  return folder();
}

}  // namespace longhaul::fuzzing
