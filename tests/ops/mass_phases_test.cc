// The GPU's choices of blocks by mass, run by a loop in place of threads.

#include "ops/choose/mass_phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "ops/choose/antidiagonal_blocks.h"
#include "ops/choose/antidiagonal_phases.h"
#include "ops/choose/flex_blocks.h"
#include "ops/choose/flex_phases.h"
#include "ops/choose/mass_cut.h"
#include "ops/maps/block_mass.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

TEST(MassPhases, CountWhatTheHostCounts) {
  std::mt19937 random(6);
  const auto shared = std::make_unique<cuda::MassShared>();
  constexpr double kAll = std::numeric_limits<double>::infinity();
  for (const size_t count : {0, 1, 2, 100, 1024, 1025, 5000}) {
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<float> scores(count);
      double sum = 0;
      for (float& x : scores) {  // sums of these are exact in any order
        x = static_cast<float>(random() % (kind == 1 ? 3 : 4000)) / 1024;
        if (kind == 2 && random() % 2 == 0) x = NAN;
        if (kind == 3) x = 0.25f;
        sum += std::isnan(x) ? 0 : static_cast<double>(x);
      }
      for (const double share : {0.0, 0.001, 0.3, 0.5, 0.9, 1.0, 1.5, kAll}) {
        const double mass = share == kAll ? kAll : std::round(share * sum * 1024) / 1024;
        std::vector<float> copy = scores;
        const int64_t expected = count_within_mass(copy, mass);
        cuda::count_within_mass(cuda::HostBlock{}, *shared, std::ssize(scores), mass,
                                [&](int64_t i) { return scores[static_cast<size_t>(i)]; });
        EXPECT_EQ(shared->taken, expected) << count << " scores, kind " << kind << ", " << share;
      }
    }
  }
}

/// Heads whose lines have some peaks, and the results of their choice.
struct FlexHeads {
  static constexpr int kHeads = 3, kDim = 16;

  FlexHeads(const TileGrid& on, int last_rows) : grid(on) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    queries.resize(static_cast<size_t>(on.rows * kHeads * kDim));
    means.resize(static_cast<size_t>(on.blocks() * kDim));
    for (float& x : queries) x = 2 * normal(random);
    for (float& x : means) x = 2 * normal(random);
    for (auto* lines : {&columns, &diagonals}) {
      float sum = 0;
      for (int64_t i = 0; i < on.keys(); ++i) {
        lines->push_back(std::exp(2 * normal(random)));
        sum += lines->back();
      }
      for (float& x : *lines) x *= static_cast<float>(last_rows) / sum;
    }
  }

  std::vector<uint8_t> on_the_host(const FlexRule& rule, int head) const {
    std::vector<uint8_t> seen(static_cast<size_t>(grid.tiles() * grid.blocks()), 9);
    const FlexHead task{head, view_of(columns), view_of(diagonals), view_of(means), view_of(seen)};
    FlexMemory memory;
    choose_flex_blocks(host_queue(), {view_of(queries), kHeads, kDim, grid}, rule, {&task, 1},
                       memory);
    return seen;
  }

  std::vector<uint8_t> in_phases(const FlexRule& rule, int head) const {
    const auto pairs = static_cast<size_t>(grid.tiles() * grid.blocks());
    std::vector<uint8_t> seen(pairs, 9);
    std::vector<float> bins(static_cast<size_t>(grid.blocks()), NAN), map(pairs, NAN);
    std::vector<int32_t> chosen(pairs, -1);
    int32_t takes_pairs = -1;
    const cuda::FlexCall call{queries.data(), kHeads,     kDim,          grid.tile,
                              grid.begin,     grid.rows,  rule.mass,     rule.distance,
                              rule.least,     rule.scale, rule.last_rows};
    const cuda::FlexHeadTask task{head,         columns.data(), diagonals.data(),
                                  means.data(), seen.data(),    bins.data(),
                                  map.data(),   chosen.data(),  &takes_pairs};
    const auto shared = std::make_unique<cuda::FlexShared>();
    const cuda::HostBlock block;
    const cuda::FlexPhases phases(block, *shared, call, task);
    phases.take_lines();
    EXPECT_TRUE(takes_pairs == 0 || takes_pairs == 1);
    for (int64_t at = 0; takes_pairs == 1 && at < grid.tiles(); ++at) phases.pay_tile(at);
    if (takes_pairs == 1) phases.take_pairs();
    return seen;
  }

  TileGrid grid;
  std::vector<float> queries, means, columns, diagonals;
};

TEST(FlexPhases, ChooseWhatTheHostChooses) {
  for (const TileGrid& grid : {TileGrid{32, 0, 900}, TileGrid{32, 1000, 333}, TileGrid{64, 64, 64},
                               TileGrid{128, 5000, 700}}) {
    const FlexHeads heads(grid, 50);
    for (const double mass : {0.05, 0.5, 0.9, static_cast<double>(INFINITY)}) {
      for (const double distance : {0.0, 2.0}) {  // none takes pairs; all take pairs
        for (const int64_t least : {1, 4}) {
          const FlexRule rule{mass, distance, least, 0.2f, 50};
          for (int head = 0; head < FlexHeads::kHeads; ++head) {
            EXPECT_EQ(heads.in_phases(rule, head), heads.on_the_host(rule, head))
                << grid.begin << " + " << grid.rows << ", mass " << mass << ", " << distance;
          }
        }
      }
    }
  }
}

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
  constexpr int kDim = 32;
  const int heads = static_cast<int>(shares.size());
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  const testing_support::PagedHead keys(DType::F32, kDim, grid.keys(), random);
  std::vector<float> q(static_cast<size_t>(grid.rows * heads * kDim));
  for (float& x : q) x = 2 * normal(random);
  const auto marks = static_cast<size_t>(heads * grid.tiles() * grid.blocks());
  std::vector<uint8_t> expected(marks, 9), seen(marks, 1);

  const View<const float> form[] = {view_of(q)};
  AttendCall call;
  call.queries = form;
  call.heads = heads;
  call.head_dim = kDim;
  call.scale = 0.2f;
  call.compute = AttendCompute::kF32;
  const AntidiagonalRule rule{stride, 1};
  const AntidiagonalHeads all{0, heads, keys.view(), shares, view_of(expected)};
  AntidiagonalMemory memory;
  ASSERT_TRUE(choose_antidiagonal_blocks(call, grid, rule, {&all, 1}, memory));

  const int64_t first = (grid.begin + stride - 1) / stride, end = grid.keys() / stride;
  const int64_t groups = end - first, blocks = block_count(end, grid.tile / stride);
  const std::vector<float> laid =
      laid_out(q, first * stride - grid.begin, groups, stride, heads, kDim);
  std::vector<float> masses(static_cast<size_t>(groups * heads * blocks));
  std::vector<float> lse(static_cast<size_t>(groups * heads));
  const View<const float> groups_form[] = {view_of(laid)};
  call.queries = groups_form;
  call.head_dim = stride * kDim;
  call.scale /= static_cast<float>(stride);
  call.lse = view_of(lse);
  KeySegment segment;
  segment.rows = keys.view();
  segment.rows.page_rows /= stride;
  segment.rows.head_dim = stride * kDim;
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
