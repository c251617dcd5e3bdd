#pragma once
// What this process and this machine have: for reports and for refusing what cannot fit.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace longhaul {

/// Bytes that can be allocated without swapping: the kernel's estimate, or what is left of the
/// limits of the control groups around this process when that is smaller (base/control_group.h).
size_t available_memory_bytes();

/// Largest resident set of this process so far (since the last PeakResident began), and the part of
/// the present one that is not backed by files (mapped weights are shared with the page cache and
/// do not count there).
size_t peak_resident_bytes();
size_t anonymous_resident_bytes();

/// The present resident set of this process without the mapped files in which one of `addresses`
/// lies. The program's own file counts with its whole size: pages of it that have not been touched
/// yet will be.
size_t resident_bytes_beside(std::span<const void* const> addresses);

/// Freed memory goes back to the system, so that it is not counted as what follows.
void give_back_freed_memory();

/// The largest resident set of a stretch of work: the process's peak begins anew with this object
/// (Linux: 5 into /proc/self/clear_refs).
class PeakResident {
 public:
  PeakResident();
  /// Since the object was made; none where the system does not let the peak begin anew.
  std::optional<size_t> bytes() const;

 private:
  bool begun_ = false;
};

std::string cpu_model_name();

}  // namespace longhaul
