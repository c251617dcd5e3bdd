#pragma once
// Reports resources of this process and this machine. They are printed, and used to refuse work
// that does not fit in memory.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace longhaul {

/// Returns the bytes that can be allocated without swapping. This is the kernel's estimate, or the
/// room left in the control groups of this process if it is smaller (base/control_group.h).
size_t available_memory_bytes();

/// Largest resident set of this process so far (since the last PeakResident began), and the part of
/// the present one that is not backed by files (mapped weights are shared with the page cache and
/// do not count there).
size_t peak_resident_bytes();
size_t anonymous_resident_bytes();

/// Returns the present resident set of this process, without the mapped files that contain one of
/// `addresses`. The program's own file counts with its whole size, because the program will also
/// touch the pages that it has not touched yet.
size_t resident_bytes_beside(std::span<const void* const> addresses);

/// Returns freed memory to the system, so that it does not count towards later measurements.
void give_back_freed_memory();

/// Measures the largest resident set during some work. Creating the object resets the process's
/// peak (Linux: 5 into /proc/self/clear_refs).
class PeakResident {
 public:
  PeakResident();
  /// Returns the peak since the object was created, or nothing if the system cannot reset the peak.
  std::optional<size_t> bytes() const;

 private:
  bool begun_ = false;
};

std::string cpu_model_name();

}  // namespace longhaul
