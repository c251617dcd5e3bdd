#include "ops/choose/mean_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/isa_fixture.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

struct MeanInputs {
  MeanInputs(const TileGrid& on, int heads, int dim) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    queries.resize(static_cast<size_t>(on.rows * heads * dim));
    means.resize(static_cast<size_t>(on.blocks() * dim));
    for (float& x : queries) x = normal(random);
    for (float& x : means) x = normal(random);
    rows = {view_of(queries), heads, dim, on};
  }
  double score(int head, int64_t tile, int64_t block) const {
    const TileGrid& grid = rows.grid;
    const int64_t from = std::max(grid.begin, tile * grid.tile);
    const int64_t to = std::min(grid.begin + grid.rows, (tile + 1) * grid.tile);
    double sum = 0;
    for (int64_t i = from; i < to; ++i) {
      for (int t = 0; t < rows.head_dim; ++t) {
        sum += static_cast<double>(queries[static_cast<size_t>(
                   ((i - grid.begin) * rows.heads + head) * rows.head_dim + t)]) *
               means[static_cast<size_t>(block * rows.head_dim + t)] /
               static_cast<double>(to - from);
      }
    }
    return sum;
  }
  std::vector<float> queries, means;
  TiledRows rows;
};

TEST(MeanBlocks, AreThoseWithTheLargestProductOfMeans) {
  at_every_isa([] {
    MeanBlockMemory memory;
    for (const TileGrid& grid : {TileGrid{16, 0, 1}, TileGrid{16, 0, 150}, TileGrid{16, 37, 101}}) {
      const MeanInputs in(grid, 3, 24);
      const int heads[] = {0, 2};
      const int64_t counts[] = {3, 100};
      std::vector<uint8_t> seen[2];
      std::vector<MeanBlocks> tasks;
      for (size_t t = 0; t < 2; ++t) {
        seen[t].assign(static_cast<size_t>(grid.tiles() * grid.blocks()), 7);
        tasks.push_back({heads[t], counts[t], view_of(in.means), view_of(seen[t])});
      }
      const int64_t first = grid.rows > 40 ? 40 : 0;
      choose_mean_blocks(host_queue(), in.rows, first, tasks, memory);
      for (size_t t = 0; t < 2; ++t) {
        for (int64_t tile = grid.first_tile(); tile < grid.blocks(); ++tile) {
          std::vector<std::pair<double, int64_t>> order;
          for (int64_t b = 0; b <= tile; ++b) order.push_back({-in.score(heads[t], tile, b), b});
          std::sort(order.begin(), order.end());
          order.resize(std::min<size_t>(order.size(), static_cast<size_t>(counts[t])));
          std::vector<uint8_t> want(static_cast<size_t>(grid.blocks()));
          for (const auto& [score, block] : order) want[static_cast<size_t>(block)] = 1;
          const bool before = tile < (grid.begin + first) / 16;
          if (before) std::fill(want.begin(), want.end(), uint8_t{7});  // unchanged
          const auto at = seen[t].begin() + (tile - grid.first_tile()) * grid.blocks();
          EXPECT_EQ(std::vector<uint8_t>(at, at + grid.blocks()), want) << "tile " << tile;
        }
      }
    }
  });
}

TEST(MeanBlocks, OfEqualMeansTheFirstAreTaken) {
  const TileGrid grid{8, 0, 40};
  MeanInputs in(grid, 1, 8);
  std::fill(in.means.begin(), in.means.end(), 1.0f);
  std::fill_n(in.means.begin() + 8, 8, NAN);  // the second block
  std::vector<uint8_t> seen(25, 7);
  const MeanBlocks task{0, 2, view_of(in.means), view_of(seen)};
  MeanBlockMemory memory;
  choose_mean_blocks(host_queue(), in.rows, 0, {&task, 1}, memory);
  EXPECT_EQ(std::vector<uint8_t>(seen.begin() + 20, seen.end()),
            (std::vector<uint8_t>{1, 0, 1, 0, 0}));
  EXPECT_EQ(seen[0], 1);
}

}  // namespace
}  // namespace longhaul
