#pragma once
// A text and a question about it.

#include <string>

namespace longhaul::testing_support {

/// Filler with a fact in the middle, 20 tokens per sentence.
inline std::string long_text(int sentences = 60) {
  const std::string filler =
      "The rain had not stopped since the morning, and the road to the harbour lay under water. ";
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    if (i == sentences / 2)
      text += "One of the special magic numbers for quiet-harbor is: 4827163. ";
    text += filler;
  }
  return text;
}

inline constexpr const char* kNumberQuestion =
    "What is the special magic number for quiet-harbor mentioned in the provided text?";

}  // namespace longhaul::testing_support
