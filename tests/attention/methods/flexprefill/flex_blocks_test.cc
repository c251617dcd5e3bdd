#include "attention/methods/flexprefill/flex_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attention/methods/flexprefill/flex_inputs.h"
#include "base/parallel.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::FlexInputs;
using testing_support::kFlexDim;
using testing_support::kFlexHeads;
using testing_support::view_of;

struct FlexCase : FlexInputs {
  FlexCase(const TileGrid& on, int rows) : FlexInputs(on, rows, 19) {}

  std::vector<double> softmax_of_means(int head, int64_t from, int64_t to, int64_t blocks) const {
    std::vector<double> scores(static_cast<size_t>(blocks));
    for (size_t b = 0; b < scores.size(); ++b) {
      for (int64_t r = from; r < to; ++r) {
        for (size_t t = 0; t < kFlexDim; ++t) {
          scores[b] += static_cast<double>(
                           queries[static_cast<size_t>(r * kFlexHeads + head) * kFlexDim + t]) *
                       means[b * kFlexDim + t] * scale / static_cast<double>(to - from);
        }
      }
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& s : scores) sum += s = std::exp(s - top);
    for (double& s : scores) s /= sum;
    return scores;
  }

  float scale = 0.2f;
};

std::set<int64_t> best(const std::vector<double>& scores, int64_t count) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  return {order.begin(), order.end()};
}

/// The {tile, block} pairs of a head by definition, and whether it takes pairs.
std::set<std::pair<int64_t, int64_t>> by_definition_flex(const FlexCase& in, const FlexRule& rule,
                                                         int head, bool* pairs) {
  const TileGrid& grid = in.grid;
  const int64_t blocks = grid.blocks(), first = grid.begin / grid.tile;
  const size_t tile_size = static_cast<size_t>(grid.tile);
  std::vector<double> columns(static_cast<size_t>(blocks)), back(columns);
  for (size_t i = 0; i < in.columns.size(); ++i) {
    columns[i / tile_size] += static_cast<double>(in.columns[i]) / in.last;
    const size_t from_far =
        in.diagonals.size() - 1 - i;  // bins of diagonals begin with the far ones
    back[from_far / tile_size] += static_cast<double>(in.diagonals[i]) / in.last;
  }
  const auto coarse = in.softmax_of_means(head, grid.rows - in.last, grid.rows, blocks);
  double divergence = 0;
  for (size_t b = 0; b < coarse.size(); ++b) {
    const double p = coarse[b], q = columns[b], m = (p + q) / 2;
    divergence += 0.5 * (p * std::log(p / m) + q * std::log(q / m));
  }
  *pairs = std::sqrt(divergence) < rule.distance;
  const auto budget = [&](std::vector<float> lines) {
    std::sort(lines.rbegin(), lines.rend());
    double sum = 0;
    int64_t count = 1;
    for (const float x : lines) count += (sum += static_cast<double>(x) / in.last) <= rule.mass;
    return std::max(rule.least, count / grid.tile + 1);
  };
  columns.front() = back.back() = INFINITY;
  const auto seen_columns = best(columns, *pairs ? rule.least : budget(in.columns));
  const auto seen_bins = best(back, *pairs ? rule.least : budget(in.diagonals));
  std::set<std::pair<int64_t, int64_t>> seen;
  std::vector<std::pair<double, std::pair<int64_t, int64_t>>> map;
  for (int64_t tile = first; tile < blocks; ++tile) {
    for (const int64_t b : seen_columns) {
      if (b <= tile) seen.insert({tile, b});
    }
    for (const int64_t b : seen_bins) {
      if (blocks - 1 - b <= tile) seen.insert({tile, tile - (blocks - 1 - b)});
    }
    const int64_t from = std::max<int64_t>(0, tile * grid.tile - grid.begin);
    const int64_t to = std::min(grid.rows, (tile + 1) * grid.tile - grid.begin);
    const auto row = in.softmax_of_means(head, from, to, tile + 1);
    for (int64_t b = 0; b <= tile; ++b) map.push_back({row[static_cast<size_t>(b)], {tile, b}});
  }
  if (!*pairs) return seen;
  std::sort(map.rbegin(), map.rend());
  double sum = 0;
  for (const auto& [score, at] : map) {
    if ((sum += score) > rule.mass * static_cast<double>(blocks - first)) break;
    seen.insert(at);
  }
  return seen;
}

std::vector<std::vector<uint8_t>> chosen_by(const FlexCase& in, const FlexRule& rule,
                                            FlexMemory& memory) {
  const size_t size = static_cast<size_t>(in.grid.tiles() * in.grid.blocks());
  std::vector<std::vector<uint8_t>> seen(kFlexHeads, std::vector<uint8_t>(size, 9));
  std::vector<FlexHead> heads;
  for (int h = 0; h < kFlexHeads; ++h) {
    heads.push_back({h, view_of(in.columns), view_of(in.diagonals), view_of(in.means),
                     view_of(seen[static_cast<size_t>(h)])});
  }
  const TiledRows rows{view_of(in.queries), kFlexHeads, kFlexDim, in.grid};
  choose_flex_blocks(host_queue(), rows, rule, heads, memory);
  return seen;
}

TEST(FlexBlocks, EqualTheDefinition) {
  FlexMemory memory;
  std::set<bool> kinds;
  for (const TileGrid& grid : {TileGrid{16, 0, 1}, TileGrid{16, 0, 16}, TileGrid{16, 0, 333},
                               TileGrid{16, 165, 90}, TileGrid{16, 176, 64}}) {
    const FlexCase in(grid, static_cast<int>(std::min<int64_t>(16, grid.rows)));
    for (const double mass : {0.1, 0.6, 0.93}) {
      for (const double distance : {0.0, 0.55, 1.0}) {
        const FlexRule rule{mass, distance, 2, in.scale, in.last};
        const auto seen = chosen_by(in, rule, memory);
        for (int head = 0; head < kFlexHeads; ++head) {
          bool pairs = false;
          const auto want = by_definition_flex(in, rule, head, &pairs);
          kinds.insert(pairs);
          std::set<std::pair<int64_t, int64_t>> got;
          for (int64_t t = 0; t < grid.tiles(); ++t) {
            for (int64_t b = 0; b < grid.blocks(); ++b) {
              const uint8_t mark =
                  seen[static_cast<size_t>(head)][static_cast<size_t>(t * grid.blocks() + b)];
              ASSERT_LE(mark, 1);
              if (mark != 0) got.insert({grid.begin / 16 + t, b});
            }
          }
          EXPECT_EQ(got, want) << grid.begin << " + " << grid.rows << " mass " << mass
                               << " distance " << distance << " head " << head;
        }
      }
    }
  }
  EXPECT_EQ(kinds.size(), 2u);
}

TEST(FlexBlocks, AllOfTheMassIsEverythingWhateverTheThreads) {
  const int threads = thread_count();
  const FlexCase in({16, 40, 200}, 16);
  for (const int count : {1, 3}) {
    set_thread_count(count);
    FlexMemory memory;
    for (const double distance : {0.0, 1.0}) {
      const auto seen = chosen_by(in, {INFINITY, distance, 1, in.scale, 16}, memory);
      for (int64_t t = 0; t < in.grid.tiles(); ++t) {
        for (int64_t b = 0; b <= t + in.grid.first_tile(); ++b) {
          EXPECT_EQ(seen[1][static_cast<size_t>(t * in.grid.blocks() + b)], 1) << t << " " << b;
        }
      }
    }
  }
  set_thread_count(threads);
}

TEST(FlexBlocks, NumbersThatAreNoneLeaveWhatIsAlwaysKept) {
  FlexCase in({16, 0, 100}, 16);
  for (auto* numbers : {&in.queries, &in.means, &in.columns, &in.diagonals}) {
    std::fill(numbers->begin(), numbers->end(), NAN);
  }
  FlexMemory memory;
  const auto seen = chosen_by(in, {0.5, 0.1, 1, in.scale, 16}, memory);
  for (int64_t t = 0; t < 7; ++t) {
    EXPECT_EQ(seen[0][static_cast<size_t>(t * 7)], 1);
    EXPECT_EQ(seen[0][static_cast<size_t>(t * 7 + t)], 1);
  }
}

}  // namespace
}  // namespace longhaul
