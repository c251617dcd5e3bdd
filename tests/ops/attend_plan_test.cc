// The units of a plan for the CUDA kernels, walked over on the host with the kernels' functions.
// Every visible (row, head, key) is visited once, and no other.

#include "ops/attention/attend_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ops/attention/visible_keys.h"
#include "ops/plan_case.h"

namespace longhaul::cuda {
namespace {

/// The keys that a (row, head) sees: for each key the page's address, the row in it and the query
/// form.
using Key = std::tuple<const std::byte*, int64_t, const float*>;
using PlannedKeys = std::map<std::pair<int, int>, std::vector<Key>>;

PlannedKeys by_definition_plan(const PlanCase& c) {
  PlannedKeys seen;
  for (const AttendTask& task : c.known.empty() ? c.tasks : c.known) {
    for (int r = 0; r < task.row_count; ++r) {
      for (int h = 0; h < task.head_count; ++h) {
        auto& keys = seen[{task.row_begin + r, task.head_begin + h}];
        for (const KeySegment& s : task.segments) {
          const KeyRange range = visible_keys(s, task.row_position + r);
          for (int64_t i = range.begin; i < range.end; ++i) {
            const int64_t row = row_of(s, i);
            keys.push_back({s.rows.pages[row / kPageRows], row % kPageRows,
                            c.queries[static_cast<size_t>(s.query)].address()});
          }
        }
        std::sort(keys.begin(), keys.end());
      }
    }
  }
  return seen;
}

void walk_units(const SegmentRecord* segments, const UnitRecord& unit, int keys,
                PlannedKeys& seen) {
  ASSERT_GT(unit.row_count * unit.head_count, 0);
  TileWalk tiles(segments, unit, keys);
  for (int r = 0; r < unit.row_count; ++r) {
    for (int h = 0; h < unit.head_count; ++h) seen[{unit.row_begin + r, unit.head_begin + h}];
  }
  while (tiles.next()) {
    const SegmentRecord& s = tiles.segment();
    for (int n = 0; n < keys; ++n) {
      const int32_t slot = tiles.tile() * keys + n;
      const int32_t offset = key_offset(s, slot, unit.row_position);
      if (offset == kNoKey) continue;
      const int64_t row = lists_rows(s) ? s.index[slot] : slot;
      for (int r = 0; r < unit.row_count; ++r) {
        if (!sees(s.nearest, s.furthest, r, offset)) continue;
        for (int h = 0; h < unit.head_count; ++h) {
          seen[{unit.row_begin + r, unit.head_begin + h}].push_back(
              {page_of(s, static_cast<int32_t>(row / kPageRows)), row % kPageRows, s.queries});
        }
      }
    }
  }
}

/// The units that the thread blocks of the decode kernel compute.
std::vector<UnitRecord> parts_of_decode(const AttendPlan& plan, const UnitRecord* units,
                                        int head_dim) {
  std::vector<UnitRecord> parts;
  for (int block = 0; block < plan.decode_blocks(); ++block) {
    parts.push_back(part_of_block(units, static_cast<int>(plan.decode().size()), block, head_dim));
  }
  return parts;
}

/// Checks that every unit's parts are 0, 1, ..., once each, with memory of their own.
void check_parts(const AttendPlan& plan, int head_dim) {
  std::map<int64_t, int64_t> used;  // begin to end
  const std::vector<UnitRecord> decode = parts_of_decode(plan, plan.decode().data(), head_dim);
  for (const auto* units : {&plan.sm90(), &plan.tiles(), &decode}) {
    for (const UnitRecord& u : *units) {
      ASSERT_EQ(u.partial < 0, u.parts == 1);
      if (u.partial < 0) continue;
      ASSERT_EQ(u.partial % 4, 0);
      used[u.partial] = u.partial + part_floats(u.row_count * u.head_count, head_dim);
    }
  }
  int64_t end = 0;
  for (const auto& [first, last] : used) {
    ASSERT_EQ(first, end);
    end = last;
  }
  ASSERT_EQ(end, plan.partial_floats());
  int64_t merged = 0;
  std::map<int32_t, int> arrived;  // indexed by counter
  for (const UnitRecord& u : decode) {
    ASSERT_LT(u.counter, plan.counters());
    if (u.counter < 0) continue;
    const int flat = u.row_count * u.head_count;
    ASSERT_LE(flat * u.parts, kMostMerged);
    ASSERT_EQ(u.part, arrived[u.counter]++);
    if (u.part > 0) continue;
    for (int p = 0; p < u.parts; ++p)
      ASSERT_TRUE(used.contains(u.partial + p * part_floats(flat, head_dim)));
    merged += u.parts * part_floats(flat, head_dim);
  }
  ASSERT_EQ(arrived.size(), static_cast<size_t>(plan.counters()));
  for (const MergeRecord& m : plan.merges()) {
    ASSERT_TRUE(used.contains(m.partial));
    ASSERT_LE(m.row_count * m.head_count, plan.most_merge_rows());
    merged += m.parts * part_floats(m.row_count * m.head_count, head_dim);
  }
  ASSERT_EQ(merged, plan.partial_floats());
}

void check_plan(const PlanCase& c, const AttendMachine& machine, int tile_keys) {
  AttendPlan plan;
  plan.make(c.call, c.tasks, machine);
  const AttendPlan::Layout at = plan.layout();
  std::vector<std::byte> packed(at.bytes);
  plan.pack(packed.data(), packed.data());
  auto* const segments = reinterpret_cast<SegmentRecord*>(packed.data());
  const auto* counts = reinterpret_cast<const CountRecord*>(packed.data() + at.counts);
  int64_t pairs = 0;
  for (size_t i = 0; i < plan.counts().size(); ++i) {
    pairs += resolve_count(counts[i], segments[counts[i].segment]);
  }
  ASSERT_EQ(pairs, c.live_pairs);
  PlannedKeys seen;
  const auto all = [&](size_t offset, size_t count, int keys) {
    const auto* units = reinterpret_cast<const UnitRecord*>(packed.data() + offset);
    for (size_t i = 0; i < count; ++i) walk_units(segments, units[i], keys, seen);
  };
  all(at.sm90, plan.sm90().size(), 128);
  all(at.tiles, plan.tiles().size(), tile_keys);
  const auto* decode = reinterpret_cast<const UnitRecord*>(packed.data() + at.decode);
  for (const UnitRecord& part : parts_of_decode(plan, decode, c.call.head_dim)) {
    walk_units(segments, part, kDecodeKeys, seen);
  }
  for (auto& [place, keys] : seen) std::sort(keys.begin(), keys.end());
  ASSERT_EQ(seen, by_definition_plan(c));
  check_parts(plan, c.call.head_dim);
}

TEST(AttendPlan, UnitsVisitEveryVisibleKeyOnce) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    PlanCase c(seed);
    c.segments.reserve(64);
    c.lists.reserve(256);
    const int group = 1 + static_cast<int>(c.below(5));
    make_tasks(c, group, group * 2, 1 + c.below(700), seed % 3 == 0 ? 3 : 160, seed % 2 == 0);
    AttendMachine machine;
    machine.processors = 1 + static_cast<int>(c.below(132));
    check_plan(c, machine, seed % 4 == 0 ? 16 : 64);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

/// Makes the counts of some segments unknown, and turns some into lists of whole pages.
void hide_counts(PlanCase& c, std::vector<std::vector<int32_t>>& numbers,
                 std::vector<std::vector<KeySegment>>& known) {
  const auto one = [&](int64_t n) {
    numbers.push_back({static_cast<int32_t>(n)});
    return View<const int32_t>(numbers.back().data(), 1, Place{0});
  };
  for (size_t i = 0; i < c.tasks.size(); ++i) {
    std::vector<KeySegment>&segments = c.segments[i], &here = known.emplace_back(segments);
    for (size_t s = 0; s < segments.size(); ++s) {
      KeySegment &asked = segments[s], &of = here[s];
      if (asked.rows.pages == nullptr) continue;
      if (c.below(3) == 0 && asked.index.empty() && asked.begin + asked.count >= 2 * kPageRows) {
        // Whole pages [1, n) up to the end of the stretch.
        const int64_t pages = (asked.begin + asked.count) / kPageRows;
        asked.rows.listed = asked.rows.pages;
        std::vector<int32_t>&list = numbers.emplace_back(), &rows = numbers.emplace_back();
        for (int64_t page = 1; page < pages; ++page) list.push_back(static_cast<int32_t>(page));
        for (int64_t row = kPageRows; row < pages * kPageRows; ++row) {
          rows.push_back(static_cast<int32_t>(row));
        }
        asked.count = of.count = std::ssize(rows);
        asked.index = {list.data(), std::ssize(list), Place{0}};
        asked.whole_pages = true;
        of.index = View<const int32_t>(std::span<const int32_t>(rows));
      }
      if (c.below(2) == 0) {
        of.count = c.below(asked.count + 1);
        asked.device_count = one(of.count);
      }
      if (c.below(3) == 0) {
        const int64_t behind = c.below(100);
        of.position -= behind;
        asked.count_after = one(behind);
      }
    }
    c.tasks[i].segments = segments;
    c.known.push_back(c.tasks[i]);
    c.known.back().segments = here;
    for (size_t s = 0; s < segments.size(); ++s) {
      if (segments[s].device_count.empty()) continue;
      for (int r = 0; r < c.tasks[i].row_count; ++r) {
        const KeyRange keys = visible_keys(here[s], c.tasks[i].row_position + r);
        c.live_pairs += (keys.end - keys.begin) * c.tasks[i].head_count;
      }
    }
  }
}

TEST(AttendPlan, CountsOfTheDeviceReachItsKernels) {
  int64_t pairs = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    PlanCase c(seed);
    c.segments.reserve(64);
    c.lists.reserve(256);
    make_tasks(c, 2, 4, 1 + c.below(700), seed % 3 == 0 ? 3 : 160, seed % 2 == 0);
    std::vector<std::vector<int32_t>> numbers;
    std::vector<std::vector<KeySegment>> known;
    numbers.reserve(1024);
    known.reserve(64);
    hide_counts(c, numbers, known);
    AttendMachine machine;
    machine.processors = 1 + static_cast<int>(c.below(132));
    check_plan(c, machine, seed % 4 == 0 ? 16 : 64);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    pairs += c.live_pairs;
  }
  EXPECT_GT(pairs, 0);
}

/// Jobs of several sequences, row r of one output each.
struct JoinedJobs {
  std::vector<float> out = std::vector<float>(64 * 4 * 128), lse = std::vector<float>(64 * 4);
  std::vector<float> queries = std::vector<float>(64 * 4 * 128);
  std::vector<std::vector<const std::byte*>> pages;
  std::vector<View<const float>> forms;
  std::vector<std::vector<KeySegment>> segments;
  std::vector<std::vector<AttendTask>> tasks;
  std::vector<AttendJob> jobs;

  explicit JoinedJobs(const std::vector<int64_t>& lengths) {
    forms.resize(lengths.size());
    segments.resize(lengths.size());
    tasks.resize(lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
      auto& list = pages.emplace_back();
      for (int64_t p = 0; p <= lengths[i] / kPageRows; ++p) {
        list.push_back(page_address(static_cast<int64_t>(i), p));
      }
    }
    for (size_t i = 0; i < lengths.size(); ++i) add(i, lengths[i]);
  }
  void add(size_t i, int64_t keys) {
    constexpr int64_t kRow = 4 * 128;
    const auto row = static_cast<int64_t>(i);
    forms[i] = View<const float>(queries.data() + row * kRow, kRow);
    for (int h = 0; h < 2; ++h) {
      KeySegment s;
      s.rows = {pages[i].data(), kPageRows, 128, DType::BF16, Place{0}, nullptr};
      s.count = keys;
      segments[i].push_back(s);
    }
    for (int h = 0; h < 2; ++h) {
      tasks[i].push_back({2 * h, 2, 0, 1, keys - 1, {&segments[i][static_cast<size_t>(h)], 1}});
    }
    AttendCall call;
    call.heads = 4;
    call.head_dim = 128;
    call.queries = {&forms[i], 1};
    call.out = View<float>(out.data() + row * kRow, kRow);
    call.lse = View<float>(lse.data() + 4 * row, 4);
    jobs.push_back({call, tasks[i]});
  }
};

TEST(AttendPlan, SequencesOfABatchFillTheDeviceTogether) {
  const std::vector<int64_t> lengths = {5000, 1, 300, 131072, 2048, 64, 7};
  const JoinedJobs c(lengths);
  AttendPlan together, alone;
  const AttendMachine machine{.processors = 132};
  together.make(c.jobs, machine);
  size_t unit = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    alone.make(c.jobs[i].call, c.jobs[i].tasks, machine);
    for (const UnitRecord& own : alone.decode()) {
      // Units with most work come first, so the sequence's units are looked up by its row.
      const auto same = std::ranges::find_if(together.decode(), [&](const UnitRecord& u) {
        return u.row_begin == static_cast<int32_t>(i) && u.head_begin == own.head_begin;
      });
      ASSERT_NE(same, together.decode().end()) << "sequence " << i;
      EXPECT_LE(same->parts, own.parts) << "sequence " << i;
      EXPECT_EQ(same->row_position, lengths[i] - 1);
      ++unit;
    }
  }
  EXPECT_EQ(unit, together.decode().size());
  // The longest sequence has nearly all keys and so nearly all parts. Many equal sequences need no
  // parts at all.
  EXPECT_GT(together.decode_blocks(), machine.processors);
  EXPECT_LE(together.decode_blocks(), 2 * machine.processors + std::ssize(together.decode()));
  const JoinedJobs equal(std::vector<int64_t>(64, 2048));
  together.make(equal.jobs, {.processors = 16});
  EXPECT_EQ(together.decode_blocks(), std::ssize(together.decode()));
  together.make(c.jobs, machine);
  std::vector<std::byte> packed(together.layout().bytes);
  together.pack(packed.data(), packed.data());
  const auto* const segments = reinterpret_cast<const SegmentRecord*>(packed.data());
  for (const UnitRecord& u : together.decode()) {
    // The kernel adds the unit's row to the address.
    EXPECT_EQ(segments[u.first_segment].queries, c.queries.data());
    EXPECT_EQ(segments[u.first_segment].count, lengths[static_cast<size_t>(u.row_begin)]);
  }
  check_parts(together, 128);
}

std::vector<std::byte> packed_by(const AttendPlan& plan) {
  std::vector<std::byte> packed(plan.layout().bytes);
  plan.pack(packed.data(), nullptr);
  return packed;
}

/// Makes the plan with an object that has planned other calls, and expects what a new object gives.
void expect_as_new(AttendPlan& used, std::span<const AttendJob> jobs, bool same_division) {
  AttendPlan made;
  made.make(jobs, {.processors = 132});
  used.make(jobs, {.processors = 132});
  EXPECT_EQ(used.same_division(), same_division);
  EXPECT_EQ(packed_by(used), packed_by(made));
  EXPECT_EQ(used.decode_blocks(), made.decode_blocks());
  EXPECT_EQ(used.partial_floats(), made.partial_floats());
  EXPECT_EQ(used.counters(), made.counters());
  EXPECT_EQ(used.most_merge_rows(), made.most_merge_rows());
}

TEST(AttendPlan, LayersOfAStepShareTheDivision) {
  const std::vector<int64_t> lengths = {5000, 1, 300, 131072, 2048, 64, 7};
  const JoinedJobs first(lengths);
  JoinedJobs second(lengths), longer({5000, 1, 300, 131072, 2049, 64, 7});
  for (std::vector<KeySegment>& segments : second.segments) {  // other keys than in `first`
    for (KeySegment& s : segments) s.begin = s.count > 64 ? 64 : 0;
  }
  for (std::vector<KeySegment>& segments : second.segments) {
    for (KeySegment& s : segments) s.count -= s.begin;
  }
  AttendPlan plan;
  expect_as_new(plan, first.jobs, false);
  expect_as_new(plan, first.jobs, true);
  const JoinedJobs elsewhere(lengths);
  expect_as_new(plan, elsewhere.jobs, true);
  std::vector<std::byte> segments = packed_by(plan), all = segments;
  plan.pack_segments(segments.data(), nullptr);
  EXPECT_EQ(segments, all);
  expect_as_new(plan, second.jobs, false);
  expect_as_new(plan, longer.jobs, false);
  expect_as_new(plan, std::span(longer.jobs).first(3), false);
  expect_as_new(plan, first.jobs, false);
}

/// Prefills, lists and counts of the device, in any order.
TEST(AttendPlan, AnyCallMayFollowAnother) {
  AttendPlan plan;
  for (uint32_t call = 0; call < 80; ++call) {
    const uint32_t seed = call / 2;  // every call twice
    PlanCase c(seed);
    c.segments.reserve(64);
    c.lists.reserve(256);
    const int group = 1 + static_cast<int>(c.below(5));
    make_tasks(c, group, group * 2, 1 + c.below(700), seed % 3 == 0 ? 3 : 160, seed % 4 < 2);
    const AttendJob job{c.call, c.tasks};
    AttendPlan made;
    made.make({&job, 1}, {.processors = 40});
    plan.make({&job, 1}, {.processors = 40});
    EXPECT_EQ(packed_by(plan), packed_by(made)) << "seed " << seed;
    EXPECT_EQ(plan.decode_blocks(), made.decode_blocks());
    EXPECT_EQ(plan.partial_floats(), made.partial_floats());
  }
}

TEST(AttendPlan, JoinsCallsWithEqualSettings) {
  JoinedJobs c({100, 200, 300, 400, 500});
  const int32_t counted = 3;
  c.jobs[1].call.cap = 30;
  c.segments[3][0].device_count = View<const int32_t>(&counted, 1, Place{0});
  const Rotations turned{}, others{.cosine = c.out.data()};
  c.jobs[2].call.rotations = &turned;
  c.jobs[4].call.rotations = &others;
  std::vector<const AttendJob*> left;
  for (const AttendJob& job : c.jobs) left.push_back(&job);
  std::vector<size_t> sizes;
  std::vector<AttendJob> together;
  while (!left.empty()) {
    take_joinable(left, together);
    sizes.push_back(together.size());
    if (sizes.size() == 1) {
      EXPECT_EQ(together.front().call.rotations, &turned);
    }
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 1, 1, 1}));
}

TEST(AttendPlan, LongListsOfKeysAreSplit) {
  for (const int rows : {1, 128}) {
    PlanCase c(7);
    c.segments.reserve(64);
    make_tasks(c, 2, 4, 12000, 1, false);
    c.tasks.resize(2);
    for (size_t i = 0; i < 2; ++i) {
      KeySegment s = random_segment(c, i, 12000, 11000, false);
      s.begin = 5, s.count = 11900, s.position = 5, s.visible = Visibility::kCausal;
      c.segments[i] = {s};
      c.tasks[i].segments = c.segments[i];
      c.tasks[i].row_count = rows;
      c.tasks[i].row_position = 11000;
    }
    AttendMachine machine;
    machine.processors = 132;
    AttendPlan plan;
    plan.make(c.call, c.tasks, machine);
    ASSERT_TRUE(rows == 1 ? plan.counters() > 0 : !plan.merges().empty());
    for (const MergeRecord& m : plan.merges()) EXPECT_GE(m.parts, 8);
    for (const UnitRecord& u : plan.decode()) EXPECT_GE(u.parts, 8);
    check_plan(c, machine, 64);
  }
}

/// Number of tile units and of merges if 8 KV heads of 4 query heads see all of some keys.
std::pair<size_t, size_t> tiles_and_merges(int rows, int64_t keys) {
  PlanCase c(11);
  c.segments.reserve(64);
  make_tasks(c, 4, 32, keys, 1, false);
  c.tasks.resize(8);
  for (size_t h = 0; h < 8; ++h) {
    KeySegment s = random_segment(c, h, keys, keys, false);
    s.begin = 0, s.count = keys, s.visible = Visibility::kAll;
    c.segments[h] = {s};
    c.tasks[h].segments = c.segments[h];
    c.tasks[h].row_count = rows;
  }
  AttendMachine machine;
  machine.processors = 132;
  if (rows < 64) check_plan(c, machine, 64);  // checks all pairs of row and key
  AttendPlan plan;
  plan.make(c.call, c.tasks, machine);
  return {plan.tiles().size(), plan.merges().size()};
}

TEST(AttendPlan, UnitsOfTheSameWorkAreCutWhereThatEndsSooner) {
  // 128 units on 132 processors: dividing each in four would not finish sooner.
  EXPECT_EQ(tiles_and_merges(512, 4608), std::pair(size_t{128}, size_t{0}));
  // 8 units of 20 tiles, whose thread blocks gather their keys: ten parts of two tiles each.
  EXPECT_EQ(tiles_and_merges(20, 1280), std::pair(size_t{80}, size_t{8}));
}

TEST(AttendPlan, OnlyPagesOfTheRangeGoToTheCopyEngine) {
  PlanCase c(3);
  c.segments.reserve(64);
  make_tasks(c, 1, 2, 500, 100, false);
  for (AttendTask& task : c.tasks) task.row_count = 40;
  AttendMachine machine;
  machine.sm90 = true;
  machine.pages = {page_address(0, 0), 64 * 32768, 32768};
  for (auto& list : c.segments) {
    KeySegment s = random_segment(c, (&list - c.segments.data()) % 2, 500, 500, false);
    s.begin = 0, s.count = 400, s.visible = Visibility::kAll;
    list = {s};
  }
  for (size_t i = 0; i < c.tasks.size(); ++i) c.tasks[i].segments = c.segments[i];
  AttendPlan plan;
  plan.make(c.call, c.tasks, machine);
  EXPECT_FALSE(plan.sm90().empty());
  EXPECT_FALSE(plan.tiles().empty());
  for (const UnitRecord& u : plan.sm90()) EXPECT_EQ(u.head_begin, 0);
  for (const UnitRecord& u : plan.tiles()) EXPECT_EQ(u.head_begin, 1);
  c.segments[0][0].rotate = true;
  plan.make(c.call, c.tasks, machine);
  for (const UnitRecord& u : plan.sm90()) EXPECT_NE(u.row_begin, c.tasks[0].row_begin);
}

TEST(AttendPlan, HeadsAndTypesThatTheKernelsTake) {
  for (const int dim : {64, 80, 96, 112, 128, 256}) EXPECT_TRUE(can_attend(dim, 64, DType::BF16));
  EXPECT_TRUE(can_attend(96, 64, DType::Q8_0));
  EXPECT_FALSE(can_attend(80, 64, DType::Q8_0));
  EXPECT_FALSE(can_attend(72, 64, DType::BF16));
  EXPECT_FALSE(can_attend(128, 32, DType::BF16));
  EXPECT_TRUE(can_attend(64, 64, {DType::Q8_0, DType::Q4_0}));
  EXPECT_FALSE(can_attend(112, 64, {DType::BF16, DType::Q4_0}));
  EXPECT_TRUE(can_attend(512, 64, DType::BF16));  // by the kernel of wide heads
  EXPECT_TRUE(can_attend(576, 64, DType::Q8_0));
  EXPECT_FALSE(can_attend(320, 64, DType::BF16));
}

/// The decode kernel has a special form for such keys.
TEST(AttendPlan, SaysWhetherKeysRotateAtConsecutivePositions) {
  PlanCase c(1);
  make_tasks(c, 2, 4, 300, 1, false);
  const std::vector<int32_t> index = {3, 5, 90};
  std::vector<KeySegment> segments(1);
  segments[0].rows = {c.pages[0].data(), kPageRows, 128, DType::BF16, Place{0}, nullptr};
  segments[0].count = 3;
  const AttendTask task{0, 2, 0, 1, 299, segments};
  const auto turns = [&] {
    AttendPlan plan;
    plan.make(c.call, {&task, 1}, {});
    return plan.turns();
  };
  EXPECT_FALSE(turns());
  segments[0].rotate = true;
  EXPECT_TRUE(turns());
  segments[0].index = View<const int32_t>(std::span<const int32_t>(index));
  EXPECT_TRUE(turns());
  segments[0].indexed_positions = true;
  EXPECT_FALSE(turns());
}

/// The decode kernel reserves memory for the longest rows of any segment in the call.
TEST(AttendPlan, SaysHowLongStoredRowsAre) {
  PlanCase c(1);
  make_tasks(c, 2, 4, 300, 1, false);
  std::vector<KeySegment> segments(2);
  for (KeySegment& s : segments) {
    s.rows = {c.pages[0].data(), kPageRows, 128, DType::BF16, Place{0}, nullptr};
    s.count = 300;
  }
  const AttendTask task{0, 2, 0, 1, 299, segments};
  AttendPlan plan;
  plan.make(c.call, {&task, 1}, {});
  EXPECT_EQ(plan.stored().key_bytes, 0);
  EXPECT_EQ(plan.stored().value_bytes, 0);
  segments[0].rows.type = {DType::Q8_0, DType::Q4_0};
  plan.make(c.call, {&task, 1}, {});
  EXPECT_EQ(plan.stored().key_bytes, 256);
  EXPECT_EQ(plan.stored().value_bytes, 256);
  EXPECT_FALSE(plan.stored().blocks);
  segments[1].rows.type = {DType::Q4_0, DType::Q4_0};
  plan.make(c.call, {&task, 1}, {});
  EXPECT_EQ(plan.stored().key_bytes, 136);
  EXPECT_EQ(plan.stored().value_bytes, 72);
  EXPECT_TRUE(plan.stored().blocks);
  segments[1].rotate = true;
  plan.make(c.call, {&task, 1}, {});
  EXPECT_FALSE(plan.stored().blocks);
}

}  // namespace
}  // namespace longhaul::cuda
