#pragma once
// Predicts how long the rest of a prompt will take. A token at depth d has d tokens before it. It
// costs a + b * d seconds, because attention reads all earlier tokens. Both a and b are measured
// during prefill. Because b is derived from the time of attention, even the first pass shows how
// much slower the last one will be.

#include <cstdint>
#include <vector>

namespace longhaul {

class PrefillTime {
 public:
  /// `depth` is the number of tokens in the context before the prompt.
  explicit PrefillTime(int64_t depth) : depth_(depth) {}

  /// Reports that the fraction `share` of a pass over prompt tokens [begin, begin + count) is done.
  /// `seconds` is the time of the prompt so far, and `attention` is the part of it in attention.
  /// Passes are reported in order.
  void add(int64_t begin, int64_t count, double share, double seconds, double attention);

  /// Returns the seconds for the rest of a prompt of `total` tokens. Returns 0 if nothing has been
  /// measured.
  double left(int64_t total) const;

  /// Returns the seconds for a whole text of `total` tokens in an empty context, if each token sees
  /// at most `reach` earlier tokens.
  double reading(int64_t total, int64_t reach) const;

 private:
  struct Pass {
    double tokens = 0;               ///< number of finished tokens
    double keys = 0;                 ///< sum of the depths of the finished tokens
    double attention = 0, rest = 0;  ///< seconds in attention, and seconds in everything else
  };
  /// Seconds as a linear function: each + per_key * depth.
  struct Line {
    double each = 0, per_key = 0;
  };
  Line attention_line() const;
  double rest_of_a_token() const;

  int64_t depth_, begin_ = -1;
  double seconds_ = 0, attention_ = 0;
  double seconds_before_ = 0, attention_before_ = 0;  ///< values at the start of the last pass
  double tokens_ = 0;                                 ///< finished tokens of all passes
  std::vector<Pass> passes_;
};

}  // namespace longhaul
