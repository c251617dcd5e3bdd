#include "ops/ranking.h"

#include "ops/score_cut.h"

namespace longhaul {

std::vector<int32_t> top_indices(std::span<const float> scores, int64_t k) {
  LH_ASSERT(k >= 0);
  const int64_t count = std::min(k, std::ssize(scores));
  Array<float> scratch;
  std::vector<int32_t> best(static_cast<size_t>(count) + 1);
  write_best(scores, cut_after(scores, count, scratch), 0, best.data());
  best.pop_back();
  return best;
}

}  // namespace longhaul
