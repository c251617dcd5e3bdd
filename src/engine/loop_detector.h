#pragma once
// Detects replies that repeat the same tokens without end, which can happen with --temp 0.

#include <cstdint>
#include <vector>

namespace longhaul {

class LoopDetector {
 public:
  /// Adds the next token of a reply. Returns true once the reply has ended with a loop: the same
  /// group of up to 256 tokens occurred at least four times in a row, in at least 96 tokens.
  bool push(int32_t token);

  /// Returns the number of tokens in the repeated group; 0 before a loop was found.
  int64_t period() const { return period_; }

 private:
  std::vector<int32_t> tokens_;
  /// Element p - 1 counts the most recent consecutive tokens that are each equal to the token p
  /// positions earlier.
  std::vector<int64_t> equal_;
  int64_t period_ = 0;
};

}  // namespace longhaul
