#pragma once
// Shows the progress of `longhaul eval`.

#include "cli/status_line.h"
#include "eval/runner.h"

namespace longhaul {

class EvalBar {
 public:
  explicit EvalBar(bool enabled) : line_(enabled) {}

  void update(const EvalProgress& progress);
  void clear() { line_.clear(); }

 private:
  StatusLine line_;
};

/// Returns a text such as "37 / 240 answers, 2 min 05 s left: dense 98 %, duo 92 %". `left` is the
/// estimate of the remaining seconds. It is negative if there is no estimate.
std::string progress_text(const EvalProgress& progress, double left);

}  // namespace longhaul
