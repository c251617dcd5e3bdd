#pragma once
// One line on standard error that tells how far a long prompt is. Shown only on a terminal and only
// when the work takes more than a second.

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace longhaul {

class ProgressBar {
 public:
  /// `verb`: "reading", `unit`: what is counted. Disabled bars draw nothing.
  ProgressBar(std::string verb, bool enabled, std::string unit = "tokens");
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Units done of all; `note` stands at the end.
  void update(int64_t done, int64_t total, const std::string& note = "");
  /// Takes the line away.
  void clear();

 private:
  std::string verb_, unit_;
  bool enabled_;
  bool shown_ = false;
  double drawn_ = 0;  ///< when, in seconds of watch_
  Stopwatch watch_;
};

}  // namespace longhaul
