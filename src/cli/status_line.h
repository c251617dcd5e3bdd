#pragma once
// One line on standard error, redrawn while work is running, if standard error is a terminal.

#include <string>

#include "base/clock.h"

namespace longhaul {

class StatusLine {
 public:
  /// A line that is disabled, or not on a terminal, draws nothing.
  explicit StatusLine(bool enabled);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }
  bool shown() const { return shown_; }
  /// Seconds since construction.
  double seconds() const { return watch_.seconds(); }
  /// Whether a new text should be drawn: the first one, the last one (`last`), and about ten per
  /// second.
  bool due(bool last) const;
  /// Draws the text, cut to the width of the terminal.
  void draw(const std::string& text);
  /// Columns of the terminal, as far as known; else 80.
  static size_t width();
  /// Erases the line.
  void clear();

 private:
  bool enabled_, shown_ = false;
  double drawn_ = 0;  ///< time of the last drawing, as in seconds()
  Stopwatch watch_;
};

}  // namespace longhaul
