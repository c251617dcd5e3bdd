#pragma once
// How long the rest of a prompt will take. A token at depth d (with d tokens before it) costs
// a + b * d seconds, since attention goes over all tokens before it. Both are measured while the
// prompt is read, b by the time that attention takes, so that even the first pass tells how much
// slower the last one will be.

#include <cstdint>
#include <vector>

namespace longhaul {

class PrefillTime {
 public:
  /// `depth`: tokens that the context holds before the prompt's new ones.
  explicit PrefillTime(int64_t depth) : depth_(depth) {}

  /// `share` of a pass over new tokens [begin, begin + count) is done; so far that took `seconds`
  /// in all, `attention` of them in attention. Passes come in order.
  void add(int64_t begin, int64_t count, double share, double seconds, double attention);

  /// Seconds that the rest of `total` new tokens will take; 0 while nothing is known.
  double left(int64_t total) const;

  /// Seconds that a text of `total` tokens would take from its beginning, where each sees `reach`
  /// tokens back at most.
  double reading(int64_t total, int64_t reach) const;

 private:
  struct Pass {
    double tokens = 0;               ///< done
    double keys = 0;                 ///< done, times the depth of each: what attention looked at
    double attention = 0, rest = 0;  ///< seconds
  };
  struct Line {
    double each = 0, per_key = 0;
  };
  Line attention_line() const;
  double rest_of_a_token() const;

  int64_t depth_, begin_ = -1;
  double seconds_ = 0, attention_ = 0;
  double seconds_before_ = 0, attention_before_ = 0;  ///< the last pass
  double tokens_ = 0;  ///< of passes that are done and of the share of the last
  std::vector<Pass> passes_;
};

}  // namespace longhaul
