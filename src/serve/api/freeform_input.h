#pragma once
// Decodes the argument of a call of a custom tool while the model writes it. A custom tool has one
// argument, which is free text. The model writes it as the JSON {"input": "..."}.

#include <string>
#include <string_view>

namespace longhaul::serve {

class FreeformInput {
 public:
  /// Appends a piece of the JSON. Returns the decoded text that this piece completes. A character
  /// is returned only when it is complete.
  std::string push(std::string_view arguments);
  /// Ends the JSON. Returns the decoded text that push() has not returned yet. If the JSON has no
  /// string "input", returns the value of its only member if this is a string, or else the JSON
  /// itself.
  std::string finish();

 private:
  enum class State { kBefore, kText, kEscape, kUnicode, kAfter };
  void step(char c, std::string& text);
  void end_unicode(std::string& text);
  void put_lone(std::string& text);

  std::string arguments_;
  State state_ = State::kBefore;
  std::string digits_;
  unsigned high_ = 0;  ///< first half of an open surrogate pair; 0: none
};

}  // namespace longhaul::serve
