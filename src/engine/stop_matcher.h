#pragma once
// Stop strings in text that arrives piece by piece: a string may begin in one piece and end in a
// later one, so whatever may still become one is held back.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class StopMatcher {
 public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// The text that can be shown now. After a match: what stood before the stop string; the string
  /// itself and all that follows is dropped.
  std::string push(std::string_view text);

  /// No more text comes: what was held back.
  std::string flush();

  bool stopped() const { return stopped_; }
  /// The stop string that was found; empty before that.
  const std::string& matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, matched_;
  bool stopped_ = false;
};

}  // namespace longhaul
