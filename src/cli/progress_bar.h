#pragma once
// How far a long prompt, or other work that is counted, is. Shown only where the work takes more
// than a second.

#include <cstdint>
#include <string>

#include "cli/status_line.h"

namespace longhaul {

class ProgressBar {
 public:
  /// `verb`: "reading", `unit`: what is counted. Disabled bars draw nothing.
  ProgressBar(std::string verb, bool enabled, std::string unit = "tokens");

  /// Units done of all; `note` stands at the end.
  void update(int64_t done, int64_t total, const std::string& note = "");
  void clear() { line_.clear(); }

 private:
  std::string verb_, unit_;
  StatusLine line_;
};

}  // namespace longhaul
