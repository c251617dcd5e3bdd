#include "base/system_info.h"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

namespace longhaul {
namespace {

/// The number behind `key` in a /proc file of "Key:   123 kB" lines, in bytes; 0 when absent.
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

/// The number in a file that holds only a number; `fallback` for "max" or a missing file.
size_t number_in(const char* file, size_t fallback) {
  std::ifstream in(file);
  size_t value = 0;
  return in >> value ? value : fallback;
}

std::string text_of(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

size_t held_by_control_group(size_t current, const std::string& stat) {
  std::istringstream lines(stat);
  std::string key;
  for (size_t value = 0; lines >> key >> value;) {
    if (key == "inactive_file") return current > value ? current - value : 0;
  }
  return current;
}

size_t available_memory_bytes() {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  const size_t machine = kilobytes_of("/proc/meminfo", "MemAvailable");
  const size_t limit = number_in("/sys/fs/cgroup/memory.max", kNone);
  if (limit == kNone) return machine;
  const size_t used = held_by_control_group(number_in("/sys/fs/cgroup/memory.current", 0),
                                            text_of("/sys/fs/cgroup/memory.stat"));
  return std::min(machine, limit > used ? limit - used : 0);
}

size_t peak_resident_bytes() {
  // getrusage would count the process that this one was forked from.
  if (const size_t peak = kilobytes_of("/proc/self/status", "VmHWM"); peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

size_t anonymous_resident_bytes() { return kilobytes_of("/proc/self/status", "RssAnon"); }

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
  return "unknown CPU";
}

}  // namespace longhaul
