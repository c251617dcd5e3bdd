#include <algorithm>

#include "attention/causal_pairs.h"
#include "attention/method.h"
#include "base/clock.h"
#include "base/error.h"

namespace longhaul {

const float* LayerStep::rotated(const float* x, int heads, Buffer<float>& into) {
  const int head_dim = shape->head_dim;
  into.resize(static_cast<size_t>(rows) * static_cast<size_t>(heads * head_dim));
  const Rotations& rotations = workspace->rotations.fill(shape->rope, begin, rows);
  apply_rope(rotations, begin, x, rows, heads, head_dim, into.data());
  return into.data();
}

const float* LayerStep::rotated_q() {
  if (!has_rotated_q_) rotated(q, shape->heads, workspace->rotated_q);
  has_rotated_q_ = true;
  return workspace->rotated_q.data();
}

const float* LayerStep::rotated_k() {
  if (!has_rotated_k_) rotated(k, kv_heads, workspace->rotated_k);
  has_rotated_k_ = true;
  return workspace->rotated_k.data();
}

const float* LayerStep::rotated(const float* x, int heads, const Rotations& rotations,
                                int64_t position, Buffer<float>& into) const {
  into.resize(static_cast<size_t>(rows) * static_cast<size_t>(heads * shape->head_dim));
  apply_rope(rotations, position, x, rows, heads, shape->head_dim, into.data());
  return into.data();
}

const float* LayerStep::rotated_constant(const float* x, int heads, const Rotations& rotations,
                                         int64_t position, Buffer<float>& into) const {
  into.resize(static_cast<size_t>(rows) * static_cast<size_t>(heads * shape->head_dim));
  apply_rope_constant(rotations, position, x, rows, heads, shape->head_dim, into.data());
  return into.data();
}

KeySegment LayerStep::all_keys(int head) const {
  const int64_t window = shape->own_window(layer);
  KeySegment keys;
  keys.rows = store->rows(layer, head);
  if (window > 0) {
    keys.visible = Visibility::kWindow;
    keys.window = window;
    keys.begin = keys.position = std::max<int64_t>(0, begin - window + 1);
  }
  keys.count = store->length(layer, head) - keys.begin;
  return keys;
}

AttendCall LayerStep::call(std::span<const float* const> queries,
                           const Rotations* rotations) const {
  AttendCall call;
  call.queries = queries;
  call.heads = shape->heads;
  call.head_dim = shape->head_dim;
  call.scale = shape->scale;
  call.rotations = rotations;
  call.compute = compute;
  return call;
}

void LayerStep::attend(std::span<const float* const> queries, std::span<const KeySegment> segments,
                       int per_head, const Rotations* rotations, std::optional<int64_t> position) {
  LH_ASSERT(per_head > 0 && segments.size() % static_cast<size_t>(per_head) == 0);
  const int lists = static_cast<int>(segments.size()) / per_head;
  LH_ASSERT(lists > 0 && shape->heads % lists == 0);
  const int heads_per_list = shape->heads / lists;
  std::vector<AttendTask>& tasks = workspace->tasks;
  tasks.clear();
  for (int list = 0; list < lists; ++list) {
    AttendTask task;
    task.head_begin = list * heads_per_list;
    task.head_count = heads_per_list;
    task.row_count = rows;
    task.row_position = position.value_or(begin);
    task.segments =
        segments.subspan(static_cast<size_t>(list * per_head), static_cast<size_t>(per_head));
    tasks.push_back(task);
  }
  attend(queries, tasks, rotations);
}

void LayerStep::attend(std::span<const float* const> queries, std::span<const AttendTask> tasks,
                       const Rotations* rotations) {
  if (workspace->observer) workspace->observer(*this, tasks);
  const Stopwatch watch;
  AttendCall run = call(queries, rotations);
  run.out = out;
  run.lse = lse;
  longhaul::attend(run, tasks);
  workspace->seconds += watch.seconds();
  workspace->pairs += visible_pairs(tasks);
  if (counted_ || pass.discard) return;  // dense attention reads every token once
  counted_ = true;
  workspace->dense_pairs += shape->heads * causal_pairs(begin, rows, shape->own_window(layer));
}

}  // namespace longhaul
