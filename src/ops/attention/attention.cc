#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/attention/attention_kernels.h"
#include "ops/attention/attention_memory.h"
#include "ops/attention/key_parts.h"
#include "ops/attention/visible_keys.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"

namespace longhaul {
namespace {

int64_t key_count(const AttendTask& task) {
  int64_t keys = 0;
  for (const KeySegment& s : task.segments) keys += s.count;
  return keys;
}

void check(const AttendCall& call, std::span<const AttendTask> tasks) {
  LH_ASSERT(call.head_dim <= 1024);
  for (const AttendTask& task : tasks) {
    LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
    for (const KeySegment& s : task.segments) check_segment(call, s);
  }
}

AttendUnit unit_of(const HostCall& call, const AttendTask& task) {
  AttendUnit unit{};
  unit.call = &call;
  unit.segments = task.segments.data();
  unit.segment_count = static_cast<int>(task.segments.size());
  unit.head_begin = task.head_begin;
  unit.head_count = task.head_count;
  unit.row_begin = task.row_begin;
  unit.row_count = task.row_count;
  unit.row_position = task.row_position;
  unit.key_count = key_count(task);
  return unit;
}

/// Partial results of one task's rows, to be merged (ops/attention/merge_attention.h).
struct Merge {
  AttendUnit unit;  // rows and heads
  size_t first_part;
  size_t parts;
};

/// The plan of the calls that run together: row tiles for tasks with many rows, key ranges for
/// tasks with few. Its memory is reused from call to call.
struct Plan {
  std::vector<HostCall> calls;
  std::vector<AttendUnit> tiles;
  std::vector<AttendUnit> decode;
  std::vector<Merge> merges;
  Buffer<float> partials;

  void clear() {
    calls.clear();
    tiles.clear();
    decode.clear();
    merges.clear();
  }
};

void add_tiles(const HostCall& call, const AttendTask& task, int64_t all_rows, Plan& plan) {
  // Rows per unit: many enough to amortise the packing of keys, few enough to keep every thread
  // busy.
  const int64_t share = all_rows / (4 * thread_count());
  const int64_t flat = std::clamp<int64_t>(share, 64, kUnitRows);
  const int heads = std::min(task.head_count, kUnitRows);
  const int rows = static_cast<int>(std::max<int64_t>(1, flat / heads));
  for (int h = 0; h < task.head_count; h += heads) {
    for (int r = 0; r < task.row_count; r += rows) {
      AttendUnit unit = unit_of(call, task);
      unit.head_begin = task.head_begin + h;
      unit.head_count = std::min(heads, task.head_count - h);
      unit.row_begin = task.row_begin + r;
      unit.row_count = std::min(rows, task.row_count - r);
      unit.row_position = task.row_position + r;
      plan.tiles.push_back(unit);
    }
  }
}

void add_decode(const HostCall& call, const AttendTask& task, int64_t keys_of_part, Plan& plan) {
  for (int h = 0; h < task.head_count; h += kDecodeRows) {
    AttendUnit unit = unit_of(call, task);
    unit.head_begin = task.head_begin + h;
    unit.head_count = std::min(kDecodeRows, task.head_count - h);
    const KeyParts parts(unit.key_count, keys_of_part);
    if (parts.count() > 1) {
      plan.merges.push_back({unit, plan.decode.size(), static_cast<size_t>(parts.count())});
    }
    for (int64_t p = 0; p < parts.count(); ++p) {
      unit.key_begin = parts.begin(p);
      unit.key_count = parts.begin(p + 1) - unit.key_begin;
      plan.decode.push_back(unit);
    }
  }
}

bool has_decode_rows(const AttendTask& task) {
  return task.row_count == 1 || task.row_count * task.head_count <= kDecodeRows;
}

/// Adds the units of one call. They follow from its own tasks alone.
void add_units(const HostCall& call, std::span<const AttendTask> tasks, Plan& plan) {
  int64_t rows = 0, keys = 0;
  for (const AttendTask& task : tasks) {
    if (has_decode_rows(task)) {
      keys += key_count(task) * ((task.head_count + kDecodeRows - 1) / kDecodeRows);
    } else {
      rows += static_cast<int64_t>(task.row_count) * task.head_count;
    }
  }
  for (const AttendTask& task : tasks) {
    if (task.row_count == 0 || task.head_count == 0) continue;
    if (has_decode_rows(task)) {
      add_decode(call, task, keys_of_part(keys), plan);
    } else {
      add_tiles(call, task, rows, plan);
    }
  }
}

void make_plan(std::span<const AttendJob> jobs, Plan& plan) {
  plan.clear();
  plan.calls.reserve(jobs.size());  // units point to them
  for (const AttendJob& job : jobs) {
    const bool lse = !job.call.lse.empty();
    plan.calls.push_back(host_call(job.call, rows_of(job.tasks), {.out = true, .lse = lse}));
    add_units(plan.calls.back(), job.tasks, plan);
  }
  // The longest first (causal: the last rows), so that no thread is left with one at the end.
  std::stable_sort(plan.tiles.begin(), plan.tiles.end(),
                   [](const auto& a, const auto& b) { return a.row_position > b.row_position; });
}

void merge_parts(const Merge& merge, const std::vector<AttendUnit>& decode) {
  const HostCall& call = *merge.unit.call;
  const int dim = call.head_dim;
  for (int m = 0; m < merge.unit.row_count * merge.unit.head_count; ++m) {
    float top = -std::numeric_limits<float>::infinity();
    for (size_t p = 0; p < merge.parts; ++p) {
      const AttendUnit& part = decode[merge.first_part + p];
      if (part.partial_sum[m] > 0) top = std::max(top, part.partial_max[m]);
    }
    const int64_t row = merge.unit.row_begin + m / merge.unit.head_count;
    const int64_t at = row * call.heads + merge.unit.head_begin + m % merge.unit.head_count;
    float* out = call.out + at * dim;
    std::fill_n(out, dim, 0.0f);
    float sum = 0.0f;
    for (size_t p = 0; p < merge.parts; ++p) {
      const AttendUnit& part = decode[merge.first_part + p];
      if (part.partial_sum[m] <= 0) continue;
      const float weight = std::exp2(part.partial_max[m] - top);
      sum += part.partial_sum[m] * weight;
      for (int t = 0; t < dim; ++t) out[t] += part.partial_out[m * dim + t] * weight;
    }
    for (int t = 0; t < dim && sum > 0; ++t) out[t] /= sum;
    if (call.lse != nullptr) call.lse[at] = top * 0.69314718f + std::log(sum);
  }
}

size_t floats_of_part(const Merge& merge) {
  return static_cast<size_t>(kDecodeRows) * static_cast<size_t>(merge.unit.call->head_dim + 2);
}

void assign_partials(Plan& plan) {
  size_t floats = 0;
  for (const Merge& merge : plan.merges) floats += merge.parts * floats_of_part(merge);
  plan.partials.resize(floats);
  float* at = plan.partials.data();
  for (const Merge& merge : plan.merges) {
    for (size_t p = 0; p < merge.parts; ++p, at += floats_of_part(merge)) {
      AttendUnit& unit = plan.decode[merge.first_part + p];
      unit.partial_max = at;
      unit.partial_sum = at + kDecodeRows;
      unit.partial_out = at + 2 * kDecodeRows;
    }
  }
}

void run_units(const AttentionKernels& kernels, const Plan& plan) {
  const auto decode = [&](int64_t i) {
    const AttendUnit& unit = plan.decode[static_cast<size_t>(i)];
    kernels.decode(unit, thread_scratch(kernels.decode_scratch_bytes(*unit.call)));
  };
  const int64_t tiles = std::ssize(plan.tiles), units = tiles + std::ssize(plan.decode);
  // A thread processes neighbouring parts, because each prefetches the first keys of the next.
  if (tiles == 0) return parallel_runs(units, decode);
  parallel_for(units, [&](int64_t i, int) {
    if (i >= tiles) return decode(i - tiles);
    const AttendUnit& unit = plan.tiles[static_cast<size_t>(i)];
    const int flat = unit.row_count * unit.head_count;
    kernels.tile(unit, thread_scratch(kernels.tile_scratch_bytes(*unit.call, flat)));
  });
}

void attend_on_host(std::span<const AttendJob> jobs) {
  thread_local Plan plan_of_thread;
  Plan& plan = plan_of_thread;  // the pool's threads share it
  make_plan(jobs, plan);
  assign_partials(plan);
  run_units(kAttentionKernels_for(current_isa()), plan);
  for (const Merge& merge : plan.merges) merge_parts(merge, plan.decode);
}

int64_t pairs_of(const AttendTask& task, const KeySegment& s) {
  int64_t keys = 0;
  for (int r = 0; r < task.row_count; ++r) {
    const KeyRange seen = visible_keys(s, task.row_position + r);
    keys += seen.end - seen.begin;
  }
  return keys * task.head_count;
}

/// Visible pairs of the segments with `device_count` counts in `asked`; `known` holds the same
/// tasks with resolved counts.
int64_t live_pairs(std::span<const AttendTask> asked, std::span<const AttendTask> known) {
  int64_t pairs = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t s = 0; s < asked[i].segments.size(); ++s) {
      if (!asked[i].segments[s].device_count.empty())
        pairs += pairs_of(known[i], known[i].segments[s]);
    }
  }
  return pairs;
}

}  // namespace

void attend(const AttendCall& asked, std::span<const AttendTask> tasks) {
  check(asked, tasks);
  if (on_device(kAttend, *asked.queue, asked, tasks)) return;
  if (!asked.queue->on_host()) {
    HostCopies on(*asked.queue);
    const std::span<const AttendTask> here = on(tasks);
    if (!asked.counted.empty()) host(on(asked.counted))[0] += live_pairs(tasks, here);
    return attend(on(asked), here);
  }
  const AttendJob job{asked, tasks};
  attend_on_host({&job, 1});
}

void attend(std::span<const AttendJob> jobs) {
  if (jobs.empty()) return;
  for (const AttendJob& job : jobs) check(job.call, job.tasks);
  Queue& queue = *jobs.front().call.queue;
  if (on_device(kAttendAll, queue, jobs)) return;
  if (!queue.on_host()) {
    for (const AttendJob& job : jobs) attend(job.call, job.tasks);
    return;
  }
  for (const AttendJob& job : jobs) LH_ASSERT(job.call.queue->on_host());
  attend_on_host(jobs);
}

size_t attention_scratch_bytes(int head_dim) {
  HostCall call{};
  call.queries.count = 2;  // most query forms that any method multiplies
  call.head_dim = head_dim;
  const AttentionKernels& kernels = kAttentionKernels_for(current_isa());
  return static_cast<size_t>(thread_count()) * kernels.tile_scratch_bytes(call, kUnitRows);
}

void resolve_counts(std::span<KeySegment> segments) {
  for (KeySegment& s : segments) {
    if (!s.device_count.empty() && s.device_count.place().host()) {
      const int64_t live = host(s.device_count)[0];
      LH_ASSERT(live >= 0 && live <= s.count);
      s.count = live;
      s.device_count = {};
    }
    if (!s.count_after.empty() && s.count_after.place().host()) {
      s.position -= host(s.count_after)[0];
      s.count_after = {};
    }
  }
}

int64_t visible_pairs(std::span<const AttendTask> tasks) {
  int64_t pairs = 0;
  for (const AttendTask& task : tasks) {
    for (const KeySegment& s : task.segments) {
      if (s.device_count.empty()) pairs += pairs_of(task, s);
    }
  }
  return pairs;
}

}  // namespace longhaul
