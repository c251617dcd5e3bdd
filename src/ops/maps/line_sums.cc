#include "ops/maps/line_sums.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"
#include "ops/maps/line_kernels.h"

namespace longhaul {
namespace {

void check(const AttendCall& call, const AttendTask& task, const LineSums& sums) {
  LH_ASSERT(task.segments.size() == 1);
  LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
  const KeySegment& s = task.segments[0];
  check_segment(call, s);
  LH_ASSERT(s.index.empty() && !s.rotate && s.visible == Visibility::kCausal);
  LH_ASSERT(s.position + s.count == task.row_position + task.row_count);
  LH_ASSERT(sums.columns.size() >= task.head_count * s.count &&
            sums.diagonals.size() >= task.head_count * s.count);
}

LineUnit line_unit(const HostCall& call, const AttendTask& task) {
  LineUnit unit{};
  unit.rows.call = &call;
  unit.rows.segments = task.segments.data();
  unit.rows.segment_count = 1;
  unit.rows.head_begin = task.head_begin;
  unit.rows.head_count = task.head_count;
  unit.rows.row_begin = task.row_begin;
  unit.rows.row_count = task.row_count;
  unit.rows.row_position = task.row_position;
  unit.columns_stride = task.segments[0].count;
  return unit;
}

/// Adds up the units' parts of the diagonals, in the order of their keys.
void gather_diagonals(const AttendTask& task, const LineUnit* units, size_t count, float* sums) {
  const int64_t keys = task.segments[0].count, width = line_width(task.row_count);
  parallel_for(task.head_count, [&](int64_t head, int) {
    float* diagonals = sums + head * keys;
    std::fill_n(diagonals, keys, 0.0f);
    for (size_t u = 0; u < count; ++u) {
      const float* piece = units[u].diagonals + head * width;
      // Entry e belongs to keys at distance `offset - e` before the row.
      const int64_t offset = keys - units[u].rows.key_begin - 1 + kLinePadding;
      const int64_t end = std::min(width, offset + 1);
      for (int64_t e = std::max<int64_t>(0, offset - keys + 1); e < end; ++e) {
        diagonals[offset - e] += piece[e];
      }
    }
  });
}

}  // namespace

size_t line_sums_bytes(int heads, int64_t rows, int64_t keys) {
  const int64_t units = (keys + kColumnKeys - 1) / kColumnKeys;
  return static_cast<size_t>(units * heads * line_width(static_cast<int>(rows))) * sizeof(float);
}

void line_sums(const AttendCall& asked, std::span<const AttendTask> tasks,
               std::span<const LineSums> sums) {
  LH_ASSERT(tasks.size() == sums.size());
  for (size_t i = 0; i < tasks.size(); ++i) check(asked, tasks[i], sums[i]);
  if (on_device(kLineSums, *asked.queue, asked, tasks, sums)) return;
  if (!asked.queue->on_host()) {
    HostCopies on(*asked.queue);
    std::vector<LineSums> here(sums.begin(), sums.end());
    for (LineSums& target : here) {
      target.columns = on(target.columns);
      target.diagonals = on(target.diagonals);
    }
    return line_sums(on(asked), on(tasks), here);
  }
  const HostCall call = host_call(asked, rows_of(tasks), {.lse_in = true});
  std::vector<LineUnit> units;
  std::vector<size_t> first;  // first unit of each task, then the end
  std::vector<std::vector<float>> diagonals(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    first.push_back(units.size());
    LineUnit unit = line_unit(call, tasks[i]);
    float* const columns = host(sums[i].columns).data();
    const int64_t keys = tasks[i].segments[0].count;
    const int64_t piece = tasks[i].head_count * line_width(tasks[i].row_count);
    std::fill_n(columns, tasks[i].head_count * keys, 0.0f);
    diagonals[i].resize(static_cast<size_t>((keys + kColumnKeys - 1) / kColumnKeys * piece));
    for (int64_t key = 0; key < keys; key += kColumnKeys) {
      unit.rows.key_begin = key;
      unit.rows.key_count = std::min<int64_t>(kColumnKeys, keys - key);
      unit.columns = columns + key;
      unit.diagonals = diagonals[i].data() + key / kColumnKeys * piece;
      units.push_back(unit);
    }
  }
  first.push_back(units.size());
  const LineKernels& kernels = kLineKernels_for(current_isa());
  parallel_for(static_cast<int64_t>(units.size()), [&](int64_t i, int) {
    kernels.run(units[static_cast<size_t>(i)], thread_scratch(kernels.scratch_bytes(call)));
  });
  for (size_t i = 0; i < tasks.size(); ++i) {
    gather_diagonals(tasks[i], units.data() + first[i], first[i + 1] - first[i],
                     host(sums[i].diagonals).data());
  }
}

}  // namespace longhaul
