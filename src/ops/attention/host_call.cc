#include "ops/attention/host_call.h"

#include <algorithm>

namespace longhaul {
namespace {

template <class T>
T* numbers(const View<T>& view, bool used, int64_t least) {
  if (view.empty()) {
    LH_ASSERT(!used || least == 0);
    return nullptr;
  }
  LH_ASSERT(!used || view.size() >= least);
  return host(view).data();
}

}  // namespace

HostCall host_call(const AttendCall& call, int64_t rows, CallArrays used) {
  LH_ASSERT(call.queue->on_host());
  LH_ASSERT(!call.queries.empty() && call.queries.size() <= QueryForms::kMost);
  LH_ASSERT(call.head_dim > 0 && call.heads > 0);
  const int64_t vectors = rows * call.heads;
  HostCall plain;
  for (const View<const float>& form : call.queries) {
    plain.queries.forms[plain.queries.count++] = numbers(form, true, vectors * call.head_dim);
  }
  plain.heads = call.heads;
  plain.head_dim = call.head_dim;
  plain.scale = call.scale;
  plain.cap = call.cap;
  plain.sinks = numbers(call.sinks, true, call.sinks.empty() ? 0 : call.heads);
  plain.rotations = call.rotations;
  plain.compute = call.compute;
  plain.out = numbers(call.out, used.out, vectors * call.head_dim);
  plain.lse = numbers(call.lse, used.lse, vectors);
  plain.lse_in = numbers(call.lse_in, used.lse_in, vectors);
  return plain;
}

int64_t rows_of(std::span<const AttendTask> tasks) {
  int64_t rows = 0;
  for (const AttendTask& task : tasks) {
    if (task.row_count > 0) rows = std::max<int64_t>(rows, task.row_begin + task.row_count);
  }
  return rows;
}

void check_segment(const AttendCall& call, const KeySegment& segment) {
  const PagedRows& rows = segment.rows;
  LH_ASSERT(rows.head_dim == call.head_dim);
  LH_ASSERT(rows.page_rows > 0 && (rows.page_rows & (rows.page_rows - 1)) == 0);
  LH_ASSERT(rows.type.holds(call.head_dim));
  LH_ASSERT(segment.query >= 0 && static_cast<size_t>(segment.query) < call.queries.size());
  LH_ASSERT(!segment.rotate || call.rotations != nullptr);
  const int64_t listed = segment.index.size() * (segment.whole_pages ? rows.page_rows : 1);
  LH_ASSERT(segment.index.empty() || listed >= segment.count);
  LH_ASSERT(rows.place == call.queue->place() || segment.count == 0);
  if (!call.queue->on_host()) return;
  // resolve_counts() must be called first
  LH_ASSERT(segment.device_count.empty() && segment.count_after.empty());
  LH_ASSERT(!segment.whole_pages);
}

}  // namespace longhaul
