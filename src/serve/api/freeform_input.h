#pragma once
// The free text of a custom tool, whose model writes {"input": "..."}: decoded while it arrives.

#include <string>
#include <string_view>

namespace longhaul::serve {

class FreeformInput {
 public:
  /// Appends bytes of the arguments. Returns the text that they add, in complete characters.
  std::string push(std::string_view arguments);
  /// The end of the arguments. Returns text that push() has not returned. Arguments without a text
  /// "input" count as a whole: their only text, or their JSON.
  std::string finish();

 private:
  enum class State { kBefore, kText, kEscape, kUnicode, kAfter };
  void step(char c, std::string& text);
  void end_unicode(std::string& text);
  void put_lone(std::string& text);

  std::string arguments_;
  State state_ = State::kBefore;
  std::string digits_;
  unsigned high_ = 0;  ///< first half of a surrogate pair; 0: none
};

}  // namespace longhaul::serve
