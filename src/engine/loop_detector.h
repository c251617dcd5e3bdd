#pragma once
// Detects replies that repeat the same tokens without end. This can happen with --temp 0.

#include <cstdint>
#include <vector>

namespace longhaul {

class LoopDetector {
 public:
  /// Adds the next token of a reply. Returns true if the end of the reply repeats: a group of up to
  /// 256 tokens occurs at least four times in a row and fills at least 96 tokens.
  bool push(int32_t token);

  /// Returns the length of the repeated group in tokens.
  int64_t period() const { return period_; }

 private:
  std::vector<int32_t> tokens_;
  /// [period - 1]: number of last tokens that equal the token one period earlier.
  std::vector<int64_t> equal_;
  int64_t period_ = 0;
};

}  // namespace longhaul
