#pragma once
// Formats the line that shows the progress of some work.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace longhaul {

/// Smooths an estimate of the remaining time of some work. The smoothed estimate changes slowly, so
/// that it does not jump when the load of the machine varies.
class SmoothedEnd {
 public:
  /// Returns the smoothed estimate of the seconds that are left. `seconds` have passed since the
  /// beginning of the work, which is currently expected to take `expected` seconds in total.
  double left(double seconds, double expected);

 private:
  std::optional<double> end_;  ///< seconds from the beginning to the estimated end
  double updated_ = 0;
};

/// Returns a time as text, rounded because it is only an estimate: "5 s", "40 s", "2 min 15 s", "50
/// min", "2 h 20 min".
std::string rounded_time(double seconds);

struct ProgressText {
  std::string verb, unit, note, left;
  int64_t done = 0, total = 0;
  double rate = 0;  ///< units per second
};

/// Returns one line of at most `width` characters. A narrow line has fewer details.
std::string progress_line(const ProgressText& text, size_t width);

}  // namespace longhaul
