#include "ops/maps/column_sums.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"
#include "ops/maps/column_kernels.h"

namespace longhaul {
namespace {

ColumnUnit unit_of(const HostCall& call, const AttendTask& task, const KeySegment& segment) {
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

/// Adds one unit per kColumnKeys keys. Each sum belongs to one unit, which adds in row order.
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

void add_task(const HostCall& call, const AttendTask& task, const ColumnTarget& target,
              std::vector<ColumnUnit>& units) {
  if (task.row_count == 0 || task.head_count == 0) return;
  const int lists = target.per_head ? task.head_count : 1;
  int64_t keys = 0;
  for (const KeySegment& segment : task.segments) keys += segment.count;
  LH_ASSERT(target.sums.size() >= lists * keys);
  LH_ASSERT(target.squares.empty() || target.squares.size() >= lists * keys);
  float* const sums = host(target.sums).data();
  float* const squares = host(target.squares).data();
  int64_t first = 0;
  for (const KeySegment& segment : task.segments) {
    ColumnUnit unit = unit_of(call, task, segment);
    unit.rows.head_count = target.per_head ? 1 : task.head_count;
    for (int i = 0; i < lists; ++i) {
      unit.rows.head_begin = task.head_begin + i;
      unit.sums = sums + i * keys + first;
      unit.squares = squares == nullptr ? nullptr : squares + i * keys + first;
      add_units(unit, segment.count, units);
    }
    first += segment.count;
  }
}

}  // namespace

void column_sums(const AttendCall& asked, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets) {
  LH_ASSERT(asked.head_dim <= 1024 && tasks.size() == targets.size());
  for (const AttendTask& task : tasks) {
    LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= asked.heads);
    for (const KeySegment& segment : task.segments) check_segment(asked, segment);
  }
  if (on_device(kColumnSums, *asked.queue, asked, tasks, targets)) return;
  if (!asked.queue->on_host()) {
    HostCopies on(*asked.queue);
    std::vector<ColumnTarget> here(targets.begin(), targets.end());
    for (ColumnTarget& target : here) {
      target.sums = on(target.sums);
      target.squares = on(target.squares);
    }
    return column_sums(on(asked), on(tasks), here);
  }
  const HostCall call = host_call(asked, rows_of(tasks), {.lse_in = true});
  thread_local std::vector<ColumnUnit> units_of_thread;
  std::vector<ColumnUnit>& units = units_of_thread;  // shared by the pool's threads
  units.clear();
  for (size_t i = 0; i < tasks.size(); ++i) add_task(call, tasks[i], targets[i], units);
  const ColumnKernels& kernels = kColumnKernels_for(current_isa());
  parallel_for(static_cast<int64_t>(units.size()), [&](int64_t i, int) {
    kernels.run(units[static_cast<size_t>(i)], thread_scratch(kernels.scratch_bytes(call)));
  });
}

}  // namespace longhaul
