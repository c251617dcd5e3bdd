#pragma once
// One line on standard error, drawn over itself while work goes on, where that is a terminal.

#include <string>

#include "base/clock.h"

namespace longhaul {

class StatusLine {
 public:
  /// A line that is not enabled, or not on a terminal, draws nothing.
  explicit StatusLine(bool enabled);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }
  bool shown() const { return shown_; }
  /// Since it was made.
  double seconds() const { return watch_.seconds(); }
  /// Whether a new text is due: the first one, the last one (`last`), and some ten a second.
  bool due(bool last) const;
  void draw(const std::string& text);
  /// Takes the line away.
  void clear();

 private:
  bool enabled_, shown_ = false;
  double drawn_ = 0;  ///< when, as seconds()
  Stopwatch watch_;
};

}  // namespace longhaul
