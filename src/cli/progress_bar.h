#pragma once
// Progress of a long prompt, or of other countable work. Shown only for work of more than a second.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/status_line.h"
#include "text/progress_text.h"

namespace longhaul {

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
  std::string verb_, unit_;
  StatusLine line_;
  SmoothedEnd end_;
};

}  // namespace longhaul
