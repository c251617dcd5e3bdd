#pragma once
// How far a long prompt, or other work that is counted, is. Shown only where the work takes more
// than a second.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/status_line.h"

namespace longhaul {

class ProgressBar {
 public:
  /// `verb`: "reading", `unit`: what is counted. Disabled bars draw nothing.
  ProgressBar(std::string verb, bool enabled, std::string unit = "tokens");

  /// Units done of all; `note` stands at the end. `left`: seconds that the rest will take, where
  /// that is known better than by the time so far.
  void update(int64_t done, int64_t total, const std::string& note = "",
              std::optional<double> left = {});
  void clear() { line_.clear(); }

 private:
  std::string verb_, unit_;
  StatusLine line_;
};

}  // namespace longhaul
