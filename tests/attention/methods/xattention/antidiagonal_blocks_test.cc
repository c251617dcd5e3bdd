#include "attention/methods/xattention/antidiagonal_blocks.h"

#include <gtest/gtest.h>

#include <set>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

constexpr int kTile = 32, kDim = 32;

/// Two KV heads with `group` query heads each. Queries are rows [begin, begin + rows).
struct Inputs {
  Inputs(KvType type, int group_size, const TileGrid& on)
      : grid(on), group(group_size), heads(2 * group_size) {
    std::mt19937 random(23);
    std::normal_distribution<float> normal;
    for (int h = 0; h < 2; ++h) keys.emplace_back(type, kDim, on.keys(), random);
    q.resize(static_cast<size_t>(on.rows * heads * kDim));
    for (float& x : q) x = 2 * normal(random);
    form[0] = view_of(q);
    call.queries = form;
    call.heads = heads;
    call.head_dim = kDim;
    call.scale = 0.2f;
    call.compute = AttendCompute::kF32;
  }
  Inputs(const Inputs&) = delete;

  double dot(int head, int64_t row, int64_t key) const {
    const float* x = q.data() + (row * heads + head) * kDim;
    const auto& k = keys[static_cast<size_t>(head / group)].k[static_cast<size_t>(key)];
    double sum = 0;
    for (int t = 0; t < kDim; ++t) sum += static_cast<double>(x[t]) * k[static_cast<size_t>(t)];
    return sum;
  }

  TileGrid grid;
  int group, heads;
  std::vector<PagedHead> keys;
  std::vector<float> q;
  View<const float> form[1];
  AttendCall call;
};

/// The blocks that a tile sees by definition.
std::set<int64_t> by_definition(const Inputs& in, const AntidiagonalRule& rule, int head,
                                int64_t tile, double share) {
  const TileGrid& grid = in.grid;
  std::vector<double> scores(static_cast<size_t>(tile + 1));
  double total = 0;
  for (int64_t g = tile * kTile / rule.stride; g < (tile + 1) * kTile / rule.stride; ++g) {
    if (g * rule.stride < grid.begin || (g + 1) * rule.stride > grid.keys()) continue;
    std::vector<double> logits;
    for (int64_t b = 0; b <= g; ++b) {
      double sum = 0;
      for (int r = 0; r < rule.stride; ++r) {
        const int64_t row = g * rule.stride + rule.stride - 1 - r;
        sum += in.dot(head, row - grid.begin, b * rule.stride + r);
      }
      logits.push_back(sum * static_cast<double>(in.call.scale) / (rule.stride * rule.norm));
    }
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double& x : logits) sum += x = std::exp(x - top);
    for (size_t b = 0; b < logits.size(); ++b) {
      scores[b * static_cast<size_t>(rule.stride) / kTile] += logits[b] / sum;
    }
    total += 1;
  }
  std::set<int64_t> chosen = {0, tile};
  if (total == 0) {
    for (int64_t b = 0; b <= tile; ++b) chosen.insert(b);
  }
  double held = 0;
  for (const int64_t b : chosen) held += scores[static_cast<size_t>(b)];
  while (chosen.size() < scores.size() && held < share * total) {
    int64_t best = -1;
    for (int64_t b = 0; b <= tile; ++b) {
      if (chosen.count(b) > 0) continue;
      if (best < 0 || scores[static_cast<size_t>(b)] > scores[static_cast<size_t>(best)]) best = b;
    }
    held += scores[static_cast<size_t>(best)];
    chosen.insert(best);
  }
  return chosen;
}

void check(KvType type, int group, const TileGrid& grid, const AntidiagonalRule& rule,
           AntidiagonalMemory& memory) {
  SCOPED_TRACE(testing::Message() << "group " << group << " rows " << grid.begin << " + "
                                  << grid.rows << " stride " << rule.stride);
  const Inputs in(type, group, grid);
  const int64_t each = grid.tiles() * grid.blocks();
  std::vector<double> shares(static_cast<size_t>(group), 0.6);
  shares.back() = 0.9;
  std::vector<uint8_t> seen(static_cast<size_t>(2 * group * each), 9);
  AntidiagonalHeads heads[2];
  for (int h = 0; h < 2; ++h) {
    heads[h] = {h * group, group, in.keys[static_cast<size_t>(h)].view(), shares,
                view_of(seen).part(h * group * each, group * each)};
  }
  ASSERT_TRUE(choose_antidiagonal_blocks(in.call, grid, rule, heads, memory));
  for (int head = 0; head < 2 * group; ++head) {
    for (int64_t tile = grid.first_tile(); tile < grid.blocks(); ++tile) {
      const auto at = seen.begin() + head * each + (tile - grid.first_tile()) * grid.blocks();
      std::set<int64_t> got;
      for (int64_t b = 0; b <= tile; ++b) {
        if (at[b] != 0) got.insert(b);
      }
      EXPECT_EQ(got, by_definition(in, rule, head, tile, head % group == group - 1 ? 0.9 : 0.6))
          << "head " << head << " tile " << tile;
    }
  }
}

TEST(AntidiagonalBlocks, EqualTheDefinition) {
  at_every_isa([] {
    AntidiagonalMemory memory;
    check(DType::F32, 1, {kTile, 0, 1}, {1, 1}, memory);
    check(DType::F32, 2, {kTile, 0, 200}, {8, 1}, memory);
    check(DType::BF16, 3, {kTile, 64, 131}, {4, 0.7}, memory);
    check(DType::F16, 1, {kTile, 101, 93}, {16, 1}, memory);  // begins within a group
    check(DType::Q8_0, 2, {kTile, 96, 97}, {32, 2}, memory);
    check(DType::Q4_0, 2, {kTile, 96, 97}, {32, 2}, memory);
  });
}

TEST(AntidiagonalBlocks, WithoutAWholeGroupNothingIsChosen) {
  const Inputs in(DType::F32, 1, {kTile, 33, 6});
  const double share = 0.5;
  std::vector<uint8_t> seen(4, 9);
  AntidiagonalHeads heads[2];
  for (int h = 0; h < 2; ++h) {
    heads[h] = {
        h, 1, in.keys[static_cast<size_t>(h)].view(), {&share, 1}, view_of(seen).part(2 * h, 2)};
  }
  AntidiagonalMemory memory;
  EXPECT_FALSE(choose_antidiagonal_blocks(in.call, in.grid, {8, 1}, heads, memory));
  EXPECT_EQ(seen, std::vector<uint8_t>(4, 9));
}

TEST(AntidiagonalBlocks, AShareOfOneIsEveryBlock) {
  const TileGrid grid{kTile, 0, 500};
  const Inputs in(DType::F32, 1, grid);
  const double share = 1;
  std::vector<uint8_t> seen(static_cast<size_t>(grid.tiles() * grid.blocks()));
  const AntidiagonalHeads head{1, 1, in.keys[1].view(), {&share, 1}, view_of(seen)};
  AntidiagonalMemory memory;
  ASSERT_TRUE(choose_antidiagonal_blocks(in.call, grid, {8, 1}, {&head, 1}, memory));
  for (int64_t tile = 0; tile < grid.tiles(); ++tile) {
    for (int64_t b = 0; b <= tile; ++b) {
      EXPECT_EQ(seen[static_cast<size_t>(tile * grid.blocks() + b)], 1) << tile << " " << b;
    }
  }
}

}  // namespace
}  // namespace longhaul
