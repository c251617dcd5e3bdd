#include "attention/vertical_slash.h"

#include <algorithm>
#include <cmath>

#include "ops/ranking.h"

namespace longhaul {
namespace {

constexpr int64_t kForcedColumns = 30, kForcedDiagonals = 100;

/// The `count` highest scores, the first `forced` among them.
std::vector<int32_t> top_with_forced(std::span<const float> scores, int64_t forced, int64_t count) {
  std::vector<float> raised(scores.begin(), scores.end());
  const int64_t n = static_cast<int64_t>(raised.size());
  std::fill_n(raised.begin(), std::min(forced, n), INFINITY);
  return top_indices(raised, std::max(forced, count));
}

}  // namespace

void VerticalSlash::choose(std::span<const float> columns, int64_t vertical,
                           std::span<const float> diagonals, int64_t slash) {
  columns_ = top_with_forced(columns, kForcedColumns, vertical);
  const auto distances = top_with_forced(diagonals, kForcedDiagonals, slash);
  diagonals_.clear();
  for (size_t i = distances.size(); i-- > 0;) {
    const int64_t distance = distances[i];
    if (!diagonals_.empty() && diagonals_.back().near - distance <= kTile) {
      diagonals_.back().near = distance;
    } else {
      diagonals_.push_back({distance, distance});
    }
  }
}

void VerticalSlash::add_to(int64_t tile_end, TileKeys& keys) const {
  auto column = columns_.begin();
  for (const Run& run : diagonals_) {
    if (run.near >= tile_end) continue;
    const int64_t far = std::min(run.far, tile_end - 1);
    const int64_t begin = std::max<int64_t>(tile_end - far, kTile) - kTile;
    for (; column != columns_.end() && *column < begin; ++column) keys.add(*column, *column + 1);
    keys.add(begin, std::max<int64_t>(tile_end - run.near, kTile));
  }
}

}  // namespace longhaul
