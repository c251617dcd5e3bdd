#pragma once
// The line that shows how far some work is.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace longhaul {

/// The expected end of some work, which changes slowly: a load that comes and goes does not move it
/// to and fro.
class SmoothedEnd {
 public:
  /// Seconds that are left, `seconds` after the beginning of work that is now expected to take
  /// `expected` seconds in all.
  double left(double seconds, double expected);

 private:
  std::optional<double> end_;  ///< seconds after the beginning
  double updated_ = 0;
};

/// A time that is only known roughly: "5 s", "40 s", "2 min 15 s", "50 min", "2 h 20 min".
std::string rounded_time(double seconds);

struct ProgressText {
  std::string verb, unit, note, left;
  int64_t done = 0, total = 0;
  double rate = 0;  ///< units per second
};

/// One line of at most `width` characters; narrow terminals get fewer details.
std::string progress_line(const ProgressText& text, size_t width);

}  // namespace longhaul
