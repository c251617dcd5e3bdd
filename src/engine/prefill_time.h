#pragma once
// PrefillTime predicts how long the rest of a prompt will take. The depth d of a token is the
// number of tokens before it. The time of a token is modelled as a + b * d seconds, because
// attention reads the keys of all d earlier tokens. Both a and b are estimated from the times of
// finished passes. b is estimated from the time in attention alone, so the prediction is useful
// already after the first pass.

#include <cstdint>
#include <vector>

namespace longhaul {

class PrefillTime {
 public:
  static constexpr int64_t kSeesAll = int64_t{1} << 60;

  /// `depth` is the number of tokens in the context before the prompt. A token sees at most `reach`
  /// earlier tokens. This only matters until several passes show how the time depends on the depth.
  explicit PrefillTime(int64_t depth, int64_t reach = kSeesAll) : depth_(depth), reach_(reach) {}

  /// Must be called in the order of the passes, whenever the fraction `share` of a pass over prompt
  /// tokens [begin, begin + count) has been computed. `seconds` is the time of the whole prompt so
  /// far, and `attention` is the time in attention so far.
  void add(int64_t begin, int64_t count, double share, double seconds, double attention);

  /// Returns the predicted seconds for the rest of a prompt of `total` tokens. Returns 0 before the
  /// first add().
  double left(int64_t total) const;

  /// Returns the predicted seconds for a whole text of `total` tokens in an empty context, if each
  /// token attends to at most `reach` earlier tokens.
  double reading(int64_t total, int64_t reach) const;

 private:
  struct Pass {
    double tokens = 0;               ///< number of finished tokens
    double keys = 0;                 ///< sum of the depths of the finished tokens
    double seen = 0;                 ///< sum of these depths, each at most `reach`
    double attention = 0, rest = 0;  ///< seconds in attention, and seconds in everything else
  };
  /// Seconds as a linear function: each + per_key * depth.
  struct Line {
    double each = 0, per_key = 0;
    bool within_reach = false;  ///< whether the depth is at most `reach`
  };
  Line attention_line() const;
  double rest_of_a_token() const;

  /// Sum of the depths, of at most `reach`, of the tokens [begin, end) of the prompt.
  double seen_by(double begin, double end) const;

  int64_t depth_, reach_, begin_ = -1;
  double seconds_ = 0, attention_ = 0;
  /// seconds_ and attention_ at the start of the last pass.
  double seconds_before_ = 0, attention_before_ = 0;
  double tokens_ = 0;  ///< finished tokens of all passes
  std::vector<Pass> passes_;
};

}  // namespace longhaul
