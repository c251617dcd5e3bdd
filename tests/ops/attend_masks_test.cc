// Units of a plan for masked pages, walked over on the host with the kernel's functions. Every
// visible (row, head, key) is visited once, and no other.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "ops/attention/attend_plan.h"

namespace longhaul::cuda {
namespace {

constexpr int64_t kPageBytes = 32768;

/// A head's pages, the listed pages, and the masks of two tiles in them.
struct Head {
  std::vector<const std::byte*> pages;
  std::vector<int32_t> list;
  std::vector<uint64_t> masks;
  int32_t keys = 0;  ///< 64 times the number of listed pages
  int64_t pairs = 0, position = 0;
  int rows = 0;
  KeySegment segment;

  /// The head's first page has number `first` of all pages.
  Head(int64_t first, int64_t tokens, std::mt19937& random) {
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random()) % n; };
    for (int64_t p = 0; p <= tokens / kPageRows; ++p) {
      pages.push_back(reinterpret_cast<const std::byte*>((first + p + 1) * kPageBytes));
    }
    position = below(tokens - kTileUnitRows);
    rows = 1 + static_cast<int>(below(kTileUnitRows));
    for (int32_t p = 0; p <= (position + rows - 1) / kPageRows; ++p) {
      if (below(3) == 0) continue;
      list.push_back(p);
      for (int tile = 0; tile < 2; ++tile) {
        masks.push_back(uint64_t{random()} << 32 | uint64_t{random()});
      }
    }
    keys = static_cast<int32_t>(below(std::ssize(list) + 1)) * kPageRows;
    for (int row = 0; row < rows; ++row) pairs += std::ssize(seen_by(row));
    segment.rows = {pages.data(), kPageRows, 128, DType::BF16, Place{0}, pages.data()};
    segment.count = std::ssize(list) * kPageRows;
    segment.index = {list.data(), std::ssize(list), Place{0}};
    segment.whole_pages = segment.indexed_positions = true;
    segment.masks.rows = {masks.data(), std::ssize(masks), Place{0}};
    segment.masks.pairs = {&pairs, 1, Place{0}};
    segment.device_count = {&keys, 1, Place{0}};
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  /// Addresses of pages and rows in them that a row sees by definition.
  std::vector<std::pair<const std::byte*, int>> seen_by(int row) const {
    std::vector<std::pair<const std::byte*, int>> seen;
    for (size_t p = 0; p < static_cast<size_t>(keys / kPageRows); ++p) {
      for (int n = 0; n < kPageRows; ++n) {
        const bool masked = (masks[2 * p + static_cast<size_t>(row / 64)] >> n & 1) == 0;
        if (masked || list[p] * kPageRows + n > position + row) continue;
        seen.push_back({pages[static_cast<size_t>(list[p])], n});
      }
    }
    std::sort(seen.begin(), seen.end());
    return seen;
  }
};

using Seen = std::map<std::pair<int, int>, std::vector<std::pair<const std::byte*, int>>>;

/// Records the rows that tile `tile` of a unit sees.
void walk(const SegmentRecord* segments, const UnitRecord& unit, int tile, Seen& seen) {
  TileWalk tiles(segments, unit, 2 * kPageRows);
  while (tiles.next()) {
    const SegmentRecord& s = tiles.segment();
    for (int32_t page = 2 * tiles.tile(); page < 2 * tiles.tile() + 2; ++page) {
      if (page >= s.count / kPageRows) continue;
      const int32_t offset = masked_offset(s, page, unit.row_position);
      for (int row = 64 * tile; row < std::min(64 * tile + 64, unit.row_count); ++row) {
        for (int n = 0; n < kPageRows; ++n) {
          if ((mask_of(s, page, tile) >> n & 1) == 0 || offset + n > row) continue;
          seen[{unit.row_begin + row, unit.head_begin}].push_back({page_of(s, page), n});
        }
      }
    }
  }
}

TEST(AttendMasks, EveryVisibleKeyIsVisitedOnce) {
  constexpr int kHeads = 3, kTokens = 3000, kFirstRow = 5;
  std::mt19937 random(1);
  const std::vector<float> number(1);
  const View<const float> query(number.data(), 1, Place{0});
  int64_t parts = 0;
  for (int round = 0; round < 40; ++round) {
    AttendCall call;
    call.head_dim = 128;
    call.heads = kHeads;
    call.queries = {&query, 1};
    std::vector<std::unique_ptr<Head>> heads;
    std::vector<AttendTask> tasks;
    Seen expected;
    int64_t pairs = 0;
    for (int h = 0; h < kHeads; ++h) {
      heads.push_back(std::make_unique<Head>(int64_t{h} * kTokens, kTokens, random));
      const Head& head = *heads.back();
      tasks.push_back({h, 1, kFirstRow, head.rows, head.position, {&head.segment, 1}});
      pairs += head.pairs;
      for (int row = 0; row < head.rows; ++row) {
        if (auto seen = head.seen_by(row); !seen.empty()) expected[{kFirstRow + row, h}] = seen;
      }
    }
    AttendMachine machine;
    machine.processors = round % 2 == 0 ? 1 : 132;  // gives few or many parts
    machine.sm90 = true;
    machine.pages = {reinterpret_cast<const std::byte*>(kPageBytes),
                     static_cast<size_t>(kPageBytes) * kTokens * kHeads,
                     static_cast<size_t>(kPageBytes)};
    AttendPlan plan;
    plan.make(call, tasks, machine);
    EXPECT_TRUE(plan.sm90().empty() && plan.tiles().empty() && plan.decode().empty());
    const AttendPlan::Layout at = plan.layout();
    std::vector<std::byte> packed(at.bytes);
    plan.pack(packed.data(), packed.data());
    auto* const segments = reinterpret_cast<SegmentRecord*>(packed.data());
    const auto* counts = reinterpret_cast<const CountRecord*>(packed.data() + at.counts);
    int64_t counted = 0;
    for (size_t i = 0; i < plan.counts().size(); ++i) {
      counted += resolve_count(counts[i], segments[counts[i].segment]);
    }
    EXPECT_EQ(counted, pairs);
    Seen seen;
    const auto* units = reinterpret_cast<const UnitRecord*>(packed.data() + at.masked);
    for (size_t i = 0; i < plan.masked().size(); ++i) {
      for (int tile = 0; tile < 2; ++tile) walk(segments, units[i], tile, seen);
      parts += units[i].parts > 1 ? 1 : 0;
    }
    for (auto& [place, keys] : seen) std::sort(keys.begin(), keys.end());
    ASSERT_EQ(seen, expected) << "round " << round;
  }
  EXPECT_GT(parts, 0);
}

}  // namespace
}  // namespace longhaul::cuda
