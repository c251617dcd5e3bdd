#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "ops/choose/tile_grid.h"

namespace longhaul::testing_support {

inline constexpr int kFlexHeads = 3, kFlexDim = 16;

/// Lines like sums over the attention of `last` rows, and random vectors.
struct FlexInputs {
  FlexInputs(const TileGrid& on, int rows, uint32_t seed) : grid(on), last(rows) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    queries.resize(static_cast<size_t>(on.rows * kFlexHeads * kFlexDim));
    means.resize(static_cast<size_t>(on.blocks() * kFlexDim));
    for (float& x : queries) x = 2 * normal(random);
    for (float& x : means) x = 2 * normal(random);
    for (auto* lines : {&columns, &diagonals}) {
      for (int64_t i = 0; i < on.keys(); ++i) lines->push_back(std::exp(2 * normal(random)));
      const float sum = std::accumulate(lines->begin(), lines->end(), 0.0f);
      for (float& x : *lines) x *= static_cast<float>(last) / sum;
    }
  }

  TileGrid grid;
  int last;
  std::vector<float> queries, means, columns, diagonals;
};

}  // namespace longhaul::testing_support
