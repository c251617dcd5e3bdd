#pragma once
// A fuzzer's input as files in memory: one folder per process, under /dev/shm where there is one.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
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

inline void write_file(const std::string& name, const uint8_t* data, size_t size) {
  std::ofstream out(folder() / name, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

}  // namespace longhaul::fuzzing
