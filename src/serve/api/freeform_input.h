#pragma once
// Decodes the free text of a custom tool while it arrives. The model writes it as {"input": "..."}.

#include <string>
#include <string_view>

namespace longhaul::serve {

class FreeformInput {
 public:
  /// Appends bytes of the arguments. Returns the text that is now complete, in whole characters.
  std::string push(std::string_view arguments);
  /// Ends the arguments. Returns the text that push() has not returned yet. If the arguments have
  /// no string "input", returns their only member if it is a string, or else the JSON of the
  /// arguments.
  std::string finish();

 private:
  enum class State { kBefore, kText, kEscape, kUnicode, kAfter };
  void step(char c, std::string& text);
  void end_unicode(std::string& text);
  void put_lone(std::string& text);

  std::string arguments_;
  State state_ = State::kBefore;
  std::string digits_;
  unsigned high_ = 0;  ///< first half of a surrogate pair; 0: there is none
};

}  // namespace longhaul::serve
