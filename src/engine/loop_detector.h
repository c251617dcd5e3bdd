#pragma once
// Finds replies that repeat the same tokens for ever, as can happen with --temp 0.

#include <cstdint>
#include <vector>

namespace longhaul {

class LoopDetector {
 public:
  /// Adds the next token of a reply. True when its end is a stretch of up to 256 tokens that stands
  /// there at least four times in a row and fills at least 96 tokens.
  bool push(int32_t token);

  int64_t period() const { return period_; }  ///< tokens of the stretch that was found

 private:
  std::vector<int32_t> tokens_;
  std::vector<int64_t> equal_;  ///< [period - 1]: tokens at the end that equal the one a period ago
  int64_t period_ = 0;
};

}  // namespace longhaul
