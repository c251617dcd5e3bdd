#pragma once
// Shows the progress of work that consists of countable units, such as the tokens of a prompt. The
// bar is shown only if the work takes more than a second.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/status_line.h"
#include "text/progress_text.h"

namespace longhaul {

class ProgressBar {
 public:
  /// `verb` is a word such as "reading", and `unit` is the name of the units in the plural. If
  /// `enabled` is false, nothing is shown.
  ProgressBar(std::string verb, bool enabled, std::string unit = "tokens");

  /// Sets the number of completed units and the total. `note` is shown at the end of the line.
  /// `left` is an estimate of the remaining seconds. If it is empty, the bar estimates them from
  /// the elapsed time.
  void update(int64_t done, int64_t total, const std::string& note = "",
              std::optional<double> left = {});
  void clear() { line_.clear(); }

 private:
  std::string verb_, unit_;
  StatusLine line_;
  SmoothedEnd end_;
};

}  // namespace longhaul
