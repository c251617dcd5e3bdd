#pragma once
// A StatusLine is a line on standard error that is redrawn while work is running. It is shown only
// if standard error is a terminal.

#include <string>

#include "base/clock.h"

namespace longhaul {

class StatusLine {
 public:
  /// If `enabled` is false, or if standard error is not a terminal, nothing is drawn.
  explicit StatusLine(bool enabled);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }
  bool shown() const { return shown_; }
  /// Returns the seconds since construction.
  double seconds() const { return watch_.seconds(); }
  /// Returns whether the caller should draw a new text now. The result is true for the first text,
  /// for the last text (`last`), and otherwise about ten times per second.
  bool due(bool last) const;
  /// Draws the text, which is cut to the width of the terminal.
  void draw(const std::string& text);
  /// Returns the number of columns of the terminal, or 80 if it is unknown.
  static size_t width();
  /// Erases the line.
  void clear();

 private:
  bool enabled_, shown_ = false;
  double drawn_ = 0;  ///< time of the most recent drawing, as in seconds()
  Stopwatch watch_;
};

}  // namespace longhaul
