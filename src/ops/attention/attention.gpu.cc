// The GPU's operations of this folder.

#include <algorithm>

#include "ops/attention/attend_plan.h"
#include "ops/attention/chunk_tasks.h"
#include "ops/attention/engine_pages.gpu.h"
#include "ops/attention/gate_mix.h"
#include "ops/attention/gather_lists.h"
#include "ops/attention/kv.h"
#include "ops/attention/merge_attention.h"
#include "ops/attention/rope.gpu.h"
#include "ops/attention/row_moves.h"
#include "ops/attention/sliding_rows.h"
#include "ops/attention/staged_keys.gpu.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/score_vectors.gpu.h"

namespace longhaul::cuda {
namespace {

bool attends(const GpuQueue& queue, const AttendJob& job) {
  const int head_dim = job.call.head_dim;
  if (is_wide(head_dim) && queue.capability() != 90) return false;
  const PagedRows* known = nullptr;  // usually all segments have one form
  for (const AttendTask& task : job.tasks) {
    for (const KeySegment& s : task.segments) {
      const bool same =
          known != nullptr && known->page_rows == s.rows.page_rows && known->type == s.rows.type;
      if (!same && !can_attend(head_dim, s.rows.page_rows, s.rows.type)) return false;
      known = &s.rows;
      if (s.rows.values_in_keys != (is_wide(head_dim) && head_dim != 512)) return false;
    }
  }
  return true;
}

bool run_attend(GpuQueue& queue, const AttendCall& call, std::span<const AttendTask> all) {
  if (!attends(queue, {call, all})) return false;
  const std::span<const AttendTask> tasks = queue.own<ChunkTasks>().divide(all);
  auto& scratch = queue.own<Scratch>();
  scratch.pages = engine_pages(queue, call.head_dim);
  queue.own<StagedKeys>().run(call, tasks, [&](std::span<const AttendTask> some) {
    attend(queue.handle(), call, some, scratch);
  });
  return true;
}

/// The jobs of a call that are not queued yet, and those that go into one launch.
struct SortedJobs {
  std::vector<AttendJob> divided;  ///< the jobs without chunks
  std::vector<ChunkTasks> chunks;  ///< their tasks
  std::vector<const AttendJob*> left;
  std::vector<AttendJob> joined;
};

void run_attend_all(GpuQueue& queue, std::span<const AttendJob> jobs) {
  auto& scratch = queue.own<Scratch>();
  auto& [divided, chunks, left, joined] = queue.own<SortedJobs>();
  left.clear();
  divided.clear();
  if (chunks.size() < jobs.size()) chunks.resize(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    divided.push_back({jobs[i].call, chunks[i].divide(jobs[i].tasks)});
  }
  for (const AttendJob& job : divided) left.push_back(&job);
  while (!left.empty()) {
    take_joinable(left, joined);
    const auto is_attended = [&](const AttendJob& job) { return attends(queue, job); };
    if (joined.size() == 1 || !std::ranges::all_of(joined, is_attended)) {
      for (const AttendJob& job : joined) longhaul::attend(job.call, job.tasks);
      continue;
    }
    scratch.pages = engine_pages(queue, joined.front().call.head_dim);
    attend(queue.handle(), joined, scratch);
  }
}

struct Frequencies : Room {
  using Room::Room;
};

void run_rotations(GpuQueue& queue, const RopeTable& table, int64_t first, int64_t count,
                   View<float> cosine, View<float> sine) {
  const std::span<const double> frequency = table.inverse_frequency;
  const double* const there = queue.own<Frequencies>().upload(frequency);
  rope_angles(queue.handle(), there, static_cast<int>(frequency.size()), table.attention_factor,
              first, count, cosine.address(), sine.address());
}

void run_rotate(GpuQueue& queue, const longhaul::Rotations& r, int64_t position, int64_t step,
                View<const float> x, int64_t rows, int heads, int head_dim, View<float> y) {
  const int64_t stride = int64_t{heads} * head_dim;
  const Rotations rotations{r.first, r.count, r.rotary_dim, r.cosine, r.sine};
  const HeadRows from{x.address(), rows, heads, head_dim, stride};
  (step == 0 ? apply_rope_constant : apply_rope)(queue.handle(), rotations, position, from,
                                                 y.address(), stride);
}

NewRows new_rows(const DeviceAppend& added) {
  LH_ASSERT(added.rotated_q.empty() || added.rotations != nullptr);
  const int head_dim = added.lists.front().head_dim;
  NewRows rows{.rows = added.rows, .k = added.k.address(), .v = added.v.address()};
  rows.k_stride = rows.v_stride = int64_t{added.kv_heads} * head_dim;
  if (added.rotations == nullptr) return rows;
  const longhaul::Rotations& r = *added.rotations;
  LH_ASSERT(added.position >= r.first && added.position + added.rows <= r.first + r.count);
  const int64_t angle = (added.position - r.first) * (r.rotary_dim / 2);
  rows.cosine = r.cosine + angle;
  rows.sine = r.sine + angle;
  rows.rotary_dim = r.rotary_dim;
  rows.raw_keys = added.raw_keys;
  rows.q = added.q.address();
  rows.rotated_q = added.rotated_q.address();
  rows.query_heads = static_cast<int>(added.q.size() / added.rows / head_dim);
  return rows;
}

/// Records of moved rows, reused from call to call.
struct MovedRows {
  std::vector<AppendList> lists;
  std::vector<NewRows> added;
  std::vector<RowMove> rows;
  std::vector<ColumnMove> columns;
};

void run_append(GpuQueue& queue, std::span<const DeviceAppend> all) {
  auto& memory = queue.own<MovedRows>();
  memory.lists.clear();
  memory.added.clear();
  for (const DeviceAppend& added : all) {
    const auto lists = static_cast<int64_t>(added.lists.size());
    for (int64_t i = 0; i < lists; ++i) {
      const auto at = static_cast<size_t>(i);
      memory.lists.push_back({table_of(added.lists[at]), added.first[at],
                              static_cast<int32_t>(i * added.kv_heads / lists),
                              static_cast<int32_t>(memory.added.size())});
    }
    memory.added.push_back(new_rows(added));
  }
  append_rows(queue.handle(), form_of(all.front().lists.front()), memory.added, memory.lists);
}

void run_keep(GpuQueue& queue, std::span<const KeptRows> rows,
              std::span<const KeptNumbers> numbers) {
  auto& memory = queue.own<MovedRows>();
  memory.rows.clear();
  for (const KeptRows& each : rows) {
    memory.rows.push_back({table_of(each.to), 0, table_of(each.from), 0, each.rows.address(),
                           nullptr, each.rows.size()});
  }
  if (!rows.empty()) {
    const bool apart = std::ranges::none_of(
        rows, [](const KeptRows& each) { return each.to.listed == each.from.listed; });
    move_rows(queue.handle(), form_of(rows.front().from), memory.rows, apart);
  }
  memory.columns.clear();
  for (const KeptNumbers& each : numbers) {
    memory.columns.push_back({static_cast<const uint32_t*>(each.from), each.listed, each.behind,
                              static_cast<uint32_t*>(each.to), 0, each.rows.address(), nullptr,
                              each.rows.size()});
  }
  move_columns(queue.handle(), memory.columns);
}

}  // namespace

void implement_attention(GpuQueue& queue) {
  queue.own<Scratch>();
  queue.implement(kAttend, run_attend);
  queue.implement(kAttendAll, run_attend_all);
  queue.implement(kGatherLists, [](GpuQueue& on, auto lists, int64_t keys, int64_t rows, auto to) {
    return on.own<StagedKeys>().gather_lists(lists, keys, rows, to);
  });
  queue.implement(kMergeAttention,
                  [](GpuQueue& on, View<const float> other, View<const float> other_lse,
                     int64_t rows, int heads, int head_dim, View<float> out, View<float> lse) {
                    merge_attention(on.handle(), other.address(), other_lse.address(), rows * heads,
                                    head_dim, out.address(), lse.address());
                  });
  queue.implement(kRotations, run_rotations);
  queue.implement(kRotate, run_rotate);
  queue.implement(kAppendRows, run_append);
  queue.implement(kKeepRows, run_keep);
  queue.implement(
      kAddTransposed, [](GpuQueue& on, View<const float> x, int64_t columns, View<float> to) {
        add_transposed(on.handle(), x.address(), x.size() / columns, columns, to.address());
      });
}

}  // namespace longhaul::cuda
