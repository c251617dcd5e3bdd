#pragma once
// Shows the progress of a long prompt or of other countable work. The bar is shown only if the work
// takes more than a second.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/status_line.h"
#include "text/progress_text.h"

namespace longhaul {

class ProgressBar {
 public:
  /// `verb` is a word such as "reading", and `unit` names the counted things. A disabled bar draws
  /// nothing.
  ProgressBar(std::string verb, bool enabled, std::string unit = "tokens");

  /// Sets the number of completed units and the total. `note` is shown at the end of the line.
  /// `left` is the remaining time in seconds, if there is a better estimate than one from the
  /// elapsed time.
  void update(int64_t done, int64_t total, const std::string& note = "",
              std::optional<double> left = {});
  void clear() { line_.clear(); }

 private:
  std::string verb_, unit_;
  StatusLine line_;
  SmoothedEnd end_;
};

}  // namespace longhaul
