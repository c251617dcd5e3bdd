#include "attention/top_and_ends.h"

#include <numeric>

#include "base/error.h"
#include "ops/ranking.h"

namespace longhaul {

std::vector<int32_t> top_and_ends(std::span<const float> scores, int64_t first, int64_t last,
                                  int64_t count) {
  const int64_t rows = std::ssize(scores), between = rows - first - last;
  LH_ASSERT(first >= 0 && last >= 0 && between >= 0 && count >= first + last);
  std::vector<int32_t> kept(static_cast<size_t>(first));
  std::iota(kept.begin(), kept.end(), 0);
  const auto middle = scores.subspan(static_cast<size_t>(first), static_cast<size_t>(between));
  for (const int32_t row : top_indices(middle, count - first - last)) {
    kept.push_back(row + static_cast<int32_t>(first));
  }
  for (int64_t row = rows - last; row < rows; ++row) kept.push_back(static_cast<int32_t>(row));
  return kept;
}

}  // namespace longhaul
