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

/// A count below a million as reports print it.
inline std::string with_comma(int64_t count) {
  const std::string digits = std::to_string(count);
  const size_t head = digits.size() > 3 ? digits.size() - 3 : 0;
  return (head > 0 ? digits.substr(0, head) + "," : "") + digits.substr(head);
}

inline constexpr const char* kNumberQuestion =
    "What is the special magic number for quiet-harbor mentioned in the provided text?";

}  // namespace longhaul::testing_support
