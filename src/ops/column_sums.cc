#include "ops/column_sums.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/cpu/column_kernels.h"
#include "ops/thread_scratch.h"

namespace longhaul {
namespace {

ColumnUnit unit_of(const AttendCall& call, const AttendTask& task, const KeySegment& segment) {
  LH_ASSERT(segment.rows.head_dim == call.head_dim && segment.query >= 0 &&
            static_cast<size_t>(segment.query) < call.queries.size());
  LH_ASSERT(!segment.rotate || call.rotations != nullptr);
  ColumnUnit unit{};
  unit.rows.call = &call;
  unit.rows.segments = &segment;
  unit.rows.segment_count = 1;
  unit.rows.head_begin = task.head_begin;
  unit.rows.head_count = task.head_count;
  unit.rows.row_begin = task.row_begin;
  unit.rows.row_count = task.row_count;
  unit.rows.row_position = task.row_position;
  return unit;
}

/// One unit per kColumnKeys keys: every sum belongs to one unit, which adds in row order.
void add_units(ColumnUnit unit, int64_t keys, std::vector<ColumnUnit>& units) {
  float* const sums = unit.sums;
  float* const squares = unit.squares;
  for (int64_t begin = 0; begin < keys; begin += kColumnKeys) {
    unit.rows.key_begin = begin;
    unit.rows.key_count = std::min<int64_t>(kColumnKeys, keys - begin);
    unit.sums = sums + begin;
    unit.squares = squares == nullptr ? nullptr : squares + begin;
    units.push_back(unit);
  }
}

void add_task(const AttendCall& call, const AttendTask& task, const ColumnTarget& target,
              std::vector<ColumnUnit>& units) {
  LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
  if (task.row_count == 0 || task.head_count == 0) return;
  int64_t keys = 0;
  for (const KeySegment& segment : task.segments) keys += segment.count;
  int64_t first = 0;
  for (const KeySegment& segment : task.segments) {
    ColumnUnit unit = unit_of(call, task, segment);
    const int lists = target.per_head ? task.head_count : 1;
    unit.rows.head_count = target.per_head ? 1 : task.head_count;
    for (int i = 0; i < lists; ++i) {
      unit.rows.head_begin = task.head_begin + i;
      unit.sums = target.sums + i * keys + first;
      unit.squares = target.squares == nullptr ? nullptr : target.squares + i * keys + first;
      add_units(unit, segment.count, units);
    }
    first += segment.count;
  }
}

}  // namespace

void column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets) {
  LH_ASSERT(call.head_dim > 0 && call.head_dim <= 1024 && call.known_lse != nullptr);
  LH_ASSERT(tasks.size() == targets.size());
  std::vector<ColumnUnit> units;
  for (size_t i = 0; i < tasks.size(); ++i) add_task(call, tasks[i], targets[i], units);
  const ColumnKernels& kernels = kColumnKernels_for(current_isa());
  parallel_for(static_cast<int64_t>(units.size()), [&](int64_t i, int) {
    kernels.run(units[static_cast<size_t>(i)], thread_scratch(kernels.scratch_bytes(call)));
  });
}

}  // namespace longhaul
