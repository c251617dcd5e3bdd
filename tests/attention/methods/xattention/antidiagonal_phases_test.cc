// XAttention's choice of blocks as a GPU makes it, by a loop in place of threads.

#include "attention/methods/xattention/antidiagonal_phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "attention/methods/xattention/antidiagonal_blocks.h"
#include "ops/maps/block_mass.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

/// Groups of rows in the layout from which their masses are computed.
std::vector<float> laid_out(const std::vector<float>& q, int64_t first, int64_t groups, int stride,
                            int heads, int dim) {
  std::vector<float> laid;
  for (int64_t g = 0; g < groups; ++g) {
    for (int h = 0; h < heads; ++h) {
      for (int r = stride - 1; r >= 0; --r) {
        const auto from = q.begin() + ((first + g * stride + r) * heads + h) * dim;
        laid.insert(laid.end(), from, from + dim);
      }
    }
  }
  return laid;
}

void test_antidiagonals(const TileGrid& grid, int stride, const std::vector<double>& shares) {
  constexpr int kHeadSize = 32;
  const int heads = static_cast<int>(shares.size());
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  const testing_support::PagedHead keys(DType::F32, kHeadSize, grid.keys(), random);
  std::vector<float> q(static_cast<size_t>(grid.rows * heads * kHeadSize));
  for (float& x : q) x = 2 * normal(random);
  const auto marks = static_cast<size_t>(heads * grid.tiles() * grid.blocks());
  std::vector<uint8_t> expected(marks, 9), seen(marks, 1);

  const View<const float> form[] = {view_of(q)};
  AttendCall call;
  call.queries = form;
  call.heads = heads;
  call.head_dim = kHeadSize;
  call.scale = 0.2f;
  call.compute = AttendCompute::kF32;
  const AntidiagonalRule rule{stride, 1};
  const AntidiagonalHeads all{0, heads, keys.view(), shares, view_of(expected)};
  AntidiagonalMemory memory;
  ASSERT_TRUE(choose_antidiagonal_blocks(call, grid, rule, {&all, 1}, memory));

  const int64_t first = (grid.begin + stride - 1) / stride, end = grid.keys() / stride;
  const int64_t groups = end - first, blocks = block_count(end, grid.tile / stride);
  const std::vector<float> laid =
      laid_out(q, first * stride - grid.begin, groups, stride, heads, kHeadSize);
  std::vector<float> masses(static_cast<size_t>(groups * heads * blocks));
  std::vector<float> lse(static_cast<size_t>(groups * heads));
  const View<const float> groups_form[] = {view_of(laid)};
  call.queries = groups_form;
  call.head_dim = stride * kHeadSize;
  call.scale /= static_cast<float>(stride);
  call.lse = view_of(lse);
  KeySegment segment;
  segment.rows = keys.view();
  segment.rows.page_rows /= stride;
  segment.rows.head_dim = stride * kHeadSize;
  segment.count = end;
  const AttendTask task{0, heads, 0, static_cast<int>(groups), first, {&segment, 1}};
  const View<float> to[] = {view_of(masses)};
  block_mass(call, {&task, 1}, grid.tile / stride, to);

  std::vector<float> scores(marks, NAN);
  std::vector<int32_t> chosen(marks, -1);
  cuda::AntidiagonalTask there{};
  there.masses = masses.data();
  there.shares = shares.data();
  there.seen = seen.data();
  there.scores = scores.data();
  there.chosen = chosen.data();
  there.head_count = heads;
  there.per_block = grid.tile / stride;
  there.first_group = first;
  there.end_group = end;
  there.blocks = blocks;
  there.first_tile = grid.first_tile();
  there.tiles = grid.tiles();
  there.columns = grid.blocks();
  const auto shared = std::make_unique<cuda::AntidiagonalShared>();
  for (int head = 0; head < heads; ++head) {
    for (int64_t at = 0; at < there.count(); ++at) {
      cuda::choose_antidiagonals(cuda::HostBlock{}, *shared, there, head, at);
    }
  }
  EXPECT_EQ(seen, expected) << grid.begin << " + " << grid.rows << ", stride " << stride;
}

TEST(AntidiagonalPhases, ChooseWhatTheHostChooses) {
  const std::vector<double> shares = {0.02, 0.5, 0.9, 1};
  for (const TileGrid& grid : {TileGrid{32, 0, 700}, TileGrid{32, 0, 20}, TileGrid{32, 75, 400},
                               TileGrid{32, 1001, 333}}) {
    for (const int stride : {4, 8}) test_antidiagonals(grid, stride, shares);
  }
}

}  // namespace
}  // namespace longhaul
