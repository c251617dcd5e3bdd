#pragma once
// StopMatcher searches for stop strings in text that arrives in pieces. A stop string may begin in
// one piece and end in a later one. If the end of the text so far may be the beginning of a stop
// string, this end is held back.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class StopMatcher {
 public:
  /// Empty strings in `stops` are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Adds a piece of text, and returns the text that can be shown now. After a match, the stop
  /// string and all later text are discarded.
  std::string push(std::string_view text);

  /// Ends the text. Returns the text that is still held back.
  std::string flush();

  bool stopped() const { return stopped_; }
  /// Returns the stop string that was found, or an empty string before a match.
  const std::string& matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, matched_;
  bool stopped_ = false;
};

}  // namespace longhaul
