#pragma once
// Finds replies that repeat the same tokens without end, which can happen with --temp 0.

#include <cstdint>
#include <vector>

namespace longhaul {

class LoopDetector {
 public:
  /// Adds the next token of a reply. Returns true if the reply ends with a stretch of up to 256
  /// tokens that occurs at least four times in a row and fills at least 96 tokens.
  bool push(int32_t token);

  int64_t period() const { return period_; }  ///< length of the repeated stretch, in tokens

 private:
  std::vector<int32_t> tokens_;
  std::vector<int64_t> equal_;  ///< [period - 1]: last tokens that equal the one a period earlier
  int64_t period_ = 0;
};

}  // namespace longhaul
