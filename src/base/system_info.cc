#include "base/system_info.h"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/control_group.h"

namespace longhaul {
namespace {

/// The number after `key` in a /proc file with lines "Key:   123 kB", in bytes; 0 if absent.
size_t kilobytes_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    std::istringstream rest(line.substr(key.size() + 1));
    size_t value = 0;
    rest >> value;
    return value * 1024;
  }
  return 0;
}

}  // namespace

size_t available_memory_bytes() {
  const size_t machine = kilobytes_of("/proc/meminfo", "MemAvailable");
  const std::optional<size_t> group = control_group_room();
  return group ? std::min(machine, *group) : machine;
}

size_t peak_resident_bytes() {
  // getrusage would include the process from which this one was forked.
  if (const size_t peak = kilobytes_of("/proc/self/status", "VmHWM"); peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

size_t anonymous_resident_bytes() { return kilobytes_of("/proc/self/status", "RssAnon"); }

size_t resident_bytes_beside(std::span<const void* const> addresses) {
  std::vector<uintptr_t> sorted;
  for (const void* address : addresses) sorted.push_back(reinterpret_cast<uintptr_t>(address));
  std::sort(sorted.begin(), sorted.end());
  std::error_code none;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
  std::ifstream in("/proc/self/smaps");
  size_t bytes = 0;
  std::string_view counts = "Rss:";  // line that counts for the current mapping; empty: none
  for (std::string line; std::getline(in, line);) {
    char* rest = nullptr;
    const uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    if (*rest == '-') {  // BEGIN-END RIGHTS OFFSET DEVICE INODE FILE: first line of a mapping
      const uintptr_t end = std::strtoull(rest + 1, nullptr, 16);
      const auto first = std::lower_bound(sorted.begin(), sorted.end(), begin);
      const bool holds_one = first != sorted.end() && *first < end;
      const size_t file = line.find('/');
      const bool own = file != std::string::npos && line.substr(file) == program;
      counts = own ? "Size:" : "Rss:";
      if (holds_one && file != std::string::npos) counts = "";
    } else if (!counts.empty() && line.starts_with(counts)) {
      bytes += std::strtoull(line.c_str() + counts.size(), nullptr, 10) * 1024;
    }
  }
  return bytes;
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

PeakResident::PeakResident() {
  std::ofstream control("/proc/self/clear_refs");
  begun_ = (control << "5" << std::flush).good();
}

std::optional<size_t> PeakResident::bytes() const {
  if (!begun_) return std::nullopt;
  return peak_resident_bytes();
}

std::string cpu_model_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
#if defined(__aarch64__)
  return "ARM CPU";  // Linux prints only numbers of its designer and its part
#else
  return "unknown CPU";
#endif
}

}  // namespace longhaul
