#pragma once
// Stop strings in text that arrives in pieces. A string may begin in one piece and end in a later
// one, so text that may still become a stop string is held back.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class StopMatcher {
 public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Returns the text that can be shown now. After a match this is the text before the stop string;
  /// the string and all later text are dropped.
  std::string push(std::string_view text);

  /// Ends the text and returns the part that was held back.
  std::string flush();

  bool stopped() const { return stopped_; }
  /// The stop string that was found; empty before a match.
  const std::string& matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, matched_;
  bool stopped_ = false;
};

}  // namespace longhaul
