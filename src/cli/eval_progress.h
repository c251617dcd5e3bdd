#pragma once
// One line on standard error that tells how far a run is.

#include "base/clock.h"
#include "eval/runner.h"

namespace longhaul {

class EvalBar {
 public:
  explicit EvalBar(bool enabled);
  ~EvalBar() { clear(); }
  EvalBar(const EvalBar&) = delete;
  EvalBar& operator=(const EvalBar&) = delete;

  void update(const EvalProgress& progress);
  void clear();

 private:
  bool enabled_, shown_ = false;
  Stopwatch watch_;
  double drawn_ = 0;  ///< second of the last line
};

/// "37 / 240 answers, 2 min 05 s left: dense 98 %, duo 92 %". `left` below 0: not known.
std::string progress_text(const EvalProgress& progress, double left);

}  // namespace longhaul
