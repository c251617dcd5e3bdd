#pragma once
// Predicts how long the rest of a prompt will take. A token at depth d (with d tokens before it)
// costs a + b * d seconds, since attention reads all tokens before it. Both are measured during
// prefill, b from the time of attention, so even the first pass shows how much slower the last one
// will be.

#include <cstdint>
#include <vector>

namespace longhaul {

class PrefillTime {
 public:
  /// `depth`: number of tokens in the context before the prompt's new ones.
  explicit PrefillTime(int64_t depth) : depth_(depth) {}

  /// Reports that `share` of a pass over new tokens [begin, begin + count) is done. It took
  /// `seconds` in all so far, `attention` of them in attention. Passes are reported in order.
  void add(int64_t begin, int64_t count, double share, double seconds, double attention);

  /// Seconds that the rest of `total` new tokens will take; 0 without a measurement.
  double left(int64_t total) const;

  /// Seconds that a text of `total` tokens would take from its beginning if each token sees at most
  /// `reach` tokens back.
  double reading(int64_t total, int64_t reach) const;

 private:
  struct Pass {
    double tokens = 0;               ///< finished tokens
    double keys = 0;                 ///< sum of the finished tokens' depths
    double attention = 0, rest = 0;  ///< seconds
  };
  struct Line {
    double each = 0, per_key = 0;
  };
  Line attention_line() const;
  double rest_of_a_token() const;

  int64_t depth_, begin_ = -1;
  double seconds_ = 0, attention_ = 0;
  double seconds_before_ = 0, attention_before_ = 0;  ///< start of the last pass
  double tokens_ = 0;  ///< sums over the finished passes and the finished share of the last one
  std::vector<Pass> passes_;
};

}  // namespace longhaul
