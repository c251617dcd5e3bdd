#pragma once
// Describes for which tokens of a sequence keys and values are still stored, by layer and KV head.
// The tokens are summarised in bins.

#include <cstdint>
#include <vector>

namespace longhaul::serve {

struct RetentionMap {
  static constexpr int64_t kMostBins = 512;

  int64_t tokens = 0;
  int layers = 0, heads = 0;
  int64_t bins = 0;         ///< bin b covers tokens [b * tokens / bins, (b + 1) * tokens / bins)
  std::vector<float> kept;  ///< [layers, heads, bins]: share of the bin's tokens that are kept

  int64_t begin_of(int64_t bin) const { return bin * tokens / bins; }
  int64_t bin_of(int64_t token) const { return ((token + 1) * bins - 1) / tokens; }
};

}  // namespace longhaul::serve
