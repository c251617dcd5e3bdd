#pragma once
// Resources of this process and this machine, for reports and for refusing work that cannot fit.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace longhaul {

/// Bytes that can be allocated without swapping: the kernel's estimate, or the room left in the
/// control groups around this process if that is smaller (base/control_group.h).
size_t available_memory_bytes();

/// Largest resident set of this process so far (since the last PeakResident began), and the part of
/// the present one that is not backed by files (mapped weights are shared with the page cache and
/// do not count there).
size_t peak_resident_bytes();
size_t anonymous_resident_bytes();

/// The present resident set of this process without the mapped files that contain one of
/// `addresses`. The program's own file counts with its whole size, because pages of it that have
/// not been touched yet will be.
size_t resident_bytes_beside(std::span<const void* const> addresses);

/// Returns freed memory to the system, so that it does not count towards later measurements.
void give_back_freed_memory();

/// The largest resident set during a stretch of work. Creating the object resets the process's peak
/// (Linux: 5 into /proc/self/clear_refs).
class PeakResident {
 public:
  PeakResident();
  /// Peak since the object was made; none if the system cannot reset the peak.
  std::optional<size_t> bytes() const;

 private:
  bool begun_ = false;
};

std::string cpu_model_name();

}  // namespace longhaul
