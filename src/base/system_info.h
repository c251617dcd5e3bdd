#pragma once
// Reports resources of this process and this machine. The program prints them, and uses them to
// reject work that does not fit in memory.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace longhaul {

/// Returns the bytes that can be allocated without swapping. It is the kernel's estimate, or the
/// memory left in the control groups of this process if that is less (base/control_group.h).
size_t available_memory_bytes();

/// peak_resident_bytes() returns the largest resident set of this process so far, or since the last
/// PeakResident was created. anonymous_resident_bytes() returns the part of the current resident
/// set that is not backed by files. Mapped weights are backed by files.
size_t peak_resident_bytes();
size_t anonymous_resident_bytes();

/// Returns the resident set of this process without the mapped files that contain one of
/// `addresses`. The program's own file counts in full, because the program will also access the
/// pages that it has not accessed yet.
size_t resident_bytes_beside(std::span<const void* const> addresses);

/// Returns freed memory to the system, so that later measurements do not include it.
void give_back_freed_memory();

/// Measures the largest resident set during some work. The constructor resets the process's peak
/// (on Linux by writing 5 to /proc/self/clear_refs).
class PeakResident {
 public:
  PeakResident();
  /// Returns the peak since the object was created. Returns nothing if the system cannot reset the
  /// peak.
  std::optional<size_t> bytes() const;

 private:
  bool begun_ = false;
};

std::string cpu_model_name();

}  // namespace longhaul
