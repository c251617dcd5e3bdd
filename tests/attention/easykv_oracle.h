#pragma once
// EasyKV's regime (attention/parts/stride_budget.h) as a loop over rows, for the lists that one or
// all KV heads of a layer keep.

#include <functional>

#include "attention/eviction_oracle.h"

namespace longhaul::testing_support {

struct CountedToken {
  PlacedToken at;
  /// Sums of rows' probabilities (mean over heads) since counting began.
  double sum = 0, squares = 0;
  double seen = 0;  ///< rows that could see it
  double last = 0;  ///< probability in the newest row
};

struct EasyKv {
  int64_t budget = 30, stride = 8, sink = 4, recent = 6;
  bool in_list = false;  ///< tokens have their index in the list as position
};

/// The tokens kept of a prompt of n tokens, scored by query heads [first_head, last_head). `evict`
/// removes `stride` tokens from a list.
inline std::vector<int64_t> easykv_by_definition(
    const MethodRun& run, int layer, int first_head, int last_head, int64_t n, const EasyKv& how,
    const std::function<void(std::vector<CountedToken>&)>& evict) {
  int64_t size = std::min(n, how.budget + how.stride);
  while ((n - size) % how.stride != 0) --size;
  std::vector<CountedToken> kept;
  for (int64_t token = 0; token < size; ++token) kept.push_back({{token, token}});
  for (int64_t begin = size; begin < n; begin += how.stride) {
    for (int64_t row = begin; row < begin + how.stride; ++row) {
      kept.push_back({{row, row}});
      std::vector<PlacedToken> keys;
      for (CountedToken& token : kept) {
        if (how.in_list) token.at.position = std::ssize(keys);
        keys.push_back(token.at);
        token.last = 0;
      }
      for (int head = first_head; head < last_head; ++head) {
        const auto p = probabilities(run.shape, layer, run.inputs[static_cast<size_t>(layer)], head,
                                     keys.back(), keys);
        for (size_t j = 0; j < p.size(); ++j) kept[j].last += p[j] / (last_head - first_head);
      }
      for (CountedToken& token : kept) {
        token.sum += token.last;
        token.squares += token.last * token.last;
        token.seen += 1;
      }
    }
    evict(kept);
  }
  std::vector<int64_t> tokens;
  for (const CountedToken& token : kept) tokens.push_back(token.at.token);
  return tokens;
}

/// Evicts the lowest score of positions [begin, size - end) `count` times. Of equal scores the last
/// is evicted.
inline void evict_lowest(std::vector<CountedToken>& kept, int64_t count, int64_t begin, int64_t end,
                         double CountedToken::*score) {
  for (int64_t i = 0; i < count; ++i) {
    auto worst = kept.begin() + begin;
    for (auto at = worst; at != kept.end() - end; ++at) {
      if ((*at).*score <= (*worst).*score) worst = at;
    }
    kept.erase(worst);
  }
}

}  // namespace longhaul::testing_support
