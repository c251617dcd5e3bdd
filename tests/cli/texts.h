#pragma once
// A text to ask about and its question.

#include <cstdint>
#include <string>

namespace longhaul::testing_support {

/// Filler with a fact in the middle: some 1,300 tokens.
inline std::string long_text() {
  const std::string filler =
      "The rain had not stopped since the morning, and the road to the harbour lay under water. ";
  std::string text;
  for (int i = 0; i < 60; ++i) {
    if (i == 30) text += "One of the special magic numbers for quiet-harbor is: 4827163. ";
    text += filler;
  }
  return text;
}

/// As a report tells that this many tokens, below 10,000, were there already.
inline std::string reused_line(int64_t tokens) {
  const std::string digits = std::to_string(tokens);
  const size_t head = digits.size() > 3 ? digits.size() - 3 : 0;
  return (head > 0 ? digits.substr(0, head) + "," : "") + digits.substr(head) + " reused";
}

inline constexpr const char* kNumberQuestion =
    "What is the special magic number for quiet-harbor mentioned in the provided text?";

}  // namespace longhaul::testing_support
