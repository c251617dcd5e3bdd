#include "serve/cache/load_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/durable_file.h"
#include "base/error.h"

namespace longhaul::serve {
namespace {

constexpr double kAssumedSpeed = 500e6;

/// Reads a file twice, as ByteReader does: for its checksum and for its contents. Returns the
/// seconds, or 0 after an error.
double seconds_of_reading(int file, std::span<std::byte> buffer) {
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);  // the first pass comes from the disk
  const Stopwatch watch;
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t at = 0; at < kMeasuredBytes;) {
      const ssize_t got = pread(file, buffer.data(), buffer.size(), static_cast<off_t>(at));
      if (got <= 0) return 0;
      at += static_cast<size_t>(got);
    }
  }
  return watch.seconds();
}

}  // namespace

double load_speed_of(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kSpeedFile;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return kAssumedSpeed;
  unlink(path.c_str());  // a killed process leaves nothing
  double least = 0;
  try {
    std::mt19937_64 random;
    std::vector<uint64_t> noise((size_t{1} << 20) / sizeof(uint64_t));
    for (uint64_t& each : noise) each = random();
    const auto bytes = std::as_writable_bytes(std::span(noise));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (size_t at = 0; at < kMeasuredBytes; at += bytes.size()) write_all(file, text, path);
    sync_file(file, path);
    for (int attempt = 0; attempt < 3; ++attempt) {
      const double seconds = seconds_of_reading(file, bytes);
      if (seconds > 0 && (least == 0 || seconds < least)) least = seconds;
    }
  } catch (const UserError&) {  // such as a full disk
  }
  close(file);
  return least > 0 ? static_cast<double>(kMeasuredBytes) / least : kAssumedSpeed;
}

}  // namespace longhaul::serve
