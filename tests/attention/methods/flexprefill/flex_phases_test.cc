// FlexPrefill's choice of blocks as a GPU makes it, by a loop in place of threads.

#include "attention/methods/flexprefill/flex_phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "attention/methods/flexprefill/flex_blocks.h"
#include "attention/methods/flexprefill/flex_inputs.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::FlexInputs;
using testing_support::kFlexDim;
using testing_support::kFlexHeads;
using testing_support::view_of;

/// Heads whose lines have some peaks, and the results of their choice.
struct FlexHeads : FlexInputs {
  FlexHeads(const TileGrid& on, int last_rows) : FlexInputs(on, last_rows, 7) {}

  std::vector<uint8_t> on_the_host(const FlexRule& rule, int head) const {
    std::vector<uint8_t> seen(static_cast<size_t>(grid.tiles() * grid.blocks()), 9);
    const FlexHead task{head, view_of(columns), view_of(diagonals), view_of(means), view_of(seen)};
    FlexMemory memory;
    choose_flex_blocks(host_queue(), {view_of(queries), kFlexHeads, kFlexDim, grid}, rule,
                       {&task, 1}, memory);
    return seen;
  }

  std::vector<uint8_t> in_phases(const FlexRule& rule, int head) const {
    const auto pairs = static_cast<size_t>(grid.tiles() * grid.blocks());
    std::vector<uint8_t> seen(pairs, 9);
    std::vector<float> bins(static_cast<size_t>(grid.blocks()), NAN), map(pairs, NAN);
    std::vector<int32_t> chosen(pairs, -1);
    int32_t takes_pairs = -1;
    const cuda::FlexCall call{queries.data(), kFlexHeads, kFlexDim,      grid.tile,
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
    for (int64_t at = 0; takes_pairs == 1 && at < grid.tiles(); ++at) phases.attend_tile(at);
    if (takes_pairs == 1) phases.take_pairs();
    return seen;
  }
};

TEST(FlexPhases, ChooseWhatTheHostChooses) {
  for (const TileGrid& grid : {TileGrid{32, 0, 900}, TileGrid{32, 1000, 333}, TileGrid{64, 64, 64},
                               TileGrid{128, 5000, 700}}) {
    const FlexHeads heads(grid, 50);
    for (const double mass : {0.05, 0.5, 0.9, static_cast<double>(INFINITY)}) {
      for (const double distance : {0.0, 2.0}) {  // none takes pairs; all take pairs
        for (const int64_t least : {1, 4}) {
          const FlexRule rule{mass, distance, least, 0.2f, 50};
          for (int head = 0; head < kFlexHeads; ++head) {
            EXPECT_EQ(heads.in_phases(rule, head), heads.on_the_host(rule, head))
                << grid.begin << " + " << grid.rows << ", mass " << mass << ", " << distance;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
