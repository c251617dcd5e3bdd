#pragma once
// Progress of a long prompt, or of other countable work. Shown only for work of more than a second.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/status_line.h"

namespace longhaul {

/// A time that is only known roughly: "5 s", "40 s", "2 min 15 s", "50 min", "2 h 20 min".
std::string rounded_time(double seconds);

struct ProgressText {
  std::string verb, unit, note, left;
  int64_t done = 0, total = 0;
  double rate = 0;  ///< units per second
};

/// One line of at most `width` characters; narrow terminals get fewer details.
std::string progress_line(const ProgressText& text, size_t width);

class ProgressBar {
 public:
  /// `verb`: "reading", `unit`: the counted things. Disabled bars draw nothing.
  ProgressBar(std::string verb, bool enabled, std::string unit = "tokens");

  /// Number of units done and in total; `note` is shown at the end. `left` is the remaining time in
  /// seconds, if there is a better estimate than the elapsed time gives.
  void update(int64_t done, int64_t total, const std::string& note = "",
              std::optional<double> left = {});
  void clear() { line_.clear(); }

 private:
  double smoothed_left(double seconds, double expected);

  std::string verb_, unit_;
  StatusLine line_;
  std::optional<double> end_;  ///< expected, smoothed, in seconds from the beginning
  double updated_ = 0;
};

}  // namespace longhaul
