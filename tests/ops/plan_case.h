#pragma once
// Attention calls for tests of plans: tasks of random segments over pages with addresses but no
// memory.

#include <random>
#include <vector>

#include "ops/attention/attend_plan.h"

namespace longhaul::cuda {

/// A call with numbers as pages: page p of head h is at address page_address(h, p).
struct PlanCase {
  std::mt19937 random;
  std::vector<std::vector<const std::byte*>> pages;
  std::vector<std::vector<int32_t>> lists;
  std::vector<std::vector<KeySegment>> segments;
  std::vector<AttendTask> tasks;
  std::vector<float> numbers;
  std::vector<View<const float>> queries;
  AttendCall call;
  std::vector<AttendTask> known;  ///< the tasks with known counts, and with lists of rows only
  int64_t live_pairs = 0;         ///< pairs in segments whose counts the tasks hide

  explicit PlanCase(uint32_t seed) : random(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
};

inline const std::byte* page_address(int64_t head, int64_t page) {
  return reinterpret_cast<const std::byte*>((head << 40) + (page + 1) * 32768);
}

inline KeySegment random_segment(PlanCase& c, size_t head, int64_t rows, int64_t row_position,
                                 bool lists) {
  KeySegment s;
  s.rows = {c.pages[head].data(), kPageRows, c.call.head_dim, DType::BF16, Place{0}, nullptr};
  s.begin = c.below(rows);
  s.count = c.below(rows - s.begin + 1);
  s.visible = static_cast<Visibility>(c.below(4));
  s.window = c.below(3) == 0 ? int64_t{1} << 40 : c.below(rows + 10);
  s.position = row_position + c.below(2 * rows) - rows;
  s.query = static_cast<int>(c.below(2));
  if (lists && c.below(2) == 0) {
    auto& list = c.lists.emplace_back();
    for (int32_t r = 0; r < rows; ++r) {
      if (c.below(3) != 0) list.push_back(r);
    }
    if (!list.empty()) {
      s.index = View<const int32_t>(std::span<const int32_t>(list));
      s.count = static_cast<int64_t>(list.size());
      s.indexed_positions = c.below(2) == 0;
    }
  }
  return s;
}

inline void make_tasks(PlanCase& c, int group, int heads, int64_t keys, int most_rows, bool lists) {
  c.call.head_dim = 128;
  c.call.heads = heads;
  c.numbers.resize(2);
  c.queries = {View<const float>(&c.numbers[0], 1), View<const float>(&c.numbers[1], 1)};
  c.call.queries = c.queries;
  for (int h = 0; h < heads / group; ++h) {
    auto& list = c.pages.emplace_back();
    for (int64_t p = 0; p <= keys / kPageRows; ++p) list.push_back(page_address(h, p));
  }
  int row = 2;
  for (int chunk = 0; chunk < 2; ++chunk) {
    const int rows = 1 + static_cast<int>(c.below(most_rows));
    const int64_t position = keys - c.below(keys + 1) / 2;
    for (int h = 0; h < heads / group; ++h) {
      auto& segments = c.segments.emplace_back();
      const int64_t count = c.below(4);
      for (int64_t i = 0; i < count; ++i) {
        segments.push_back(random_segment(c, static_cast<size_t>(h), keys, position, lists));
      }
      c.tasks.push_back({h * group, group, row, rows, position, segments});
    }
    row += rows;
  }
}

}  // namespace longhaul::cuda
