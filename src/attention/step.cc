#include "attention/step.h"

#include <algorithm>

#include "attention/causal_pairs.h"
#include "base/assert.h"
#include "base/clock.h"

namespace longhaul {

const RopeTable& LayerStep::rope() const {
  const double stretch = plans.empty() ? 1 : plans.front().see.stretch;
  if (stretch == 1) return shape->rope;
  if (workspace->stretch != stretch || !(workspace->unstretched == shape->rope)) {
    workspace->unstretched = shape->rope;
    workspace->stretched = stretched_rope(shape->rope, stretch);
    workspace->stretch = stretch;
  }
  return workspace->stretched;
}

View<const float> LayerStep::rotated(View<const float> x, int heads, Array<float>& into) {
  const Rotations& rotations = workspace->rotations.fill(rope(), begin, rows);
  return rotated(x, heads, rotations, begin, into);
}

View<const float> LayerStep::rotated_q() {
  if (!has_rotated_q_) rotated(q, shape->heads, workspace->rotated_q);
  has_rotated_q_ = true;
  return workspace->rotated_q.view();
}

View<const float> LayerStep::rotated_k() {
  if (!has_rotated_k_) rotated(k, kv_heads, workspace->rotated_k);
  has_rotated_k_ = true;
  return workspace->rotated_k.view();
}

View<const float> LayerStep::rotated(View<const float> x, int heads, const Rotations& rotations,
                                     int64_t position, Array<float>& into) const {
  const View<float> y = into.resize(*queue, int64_t{rows} * heads * shape->head_dim);
  apply_rope(*queue, rotations, position, x, rows, heads, shape->head_dim, y);
  return y;
}

View<const float> LayerStep::rotated_constant(View<const float> x, int heads,
                                              const Rotations& rotations, int64_t position,
                                              Array<float>& into) const {
  const View<float> y = into.resize(*queue, int64_t{rows} * heads * shape->head_dim);
  apply_rope_constant(*queue, rotations, position, x, rows, heads, shape->head_dim, y);
  return y;
}

KeySegment LayerStep::all_keys(int list) const {
  const int64_t window = own_window();
  KeySegment keys;
  keys.rows = store->rows(layer, list);
  if (window > 0) {
    keys.visible = Visibility::kWindow;
    keys.window = window;
    keys.begin = keys.position = std::max<int64_t>(0, begin - window + 1);
  }
  keys.count = store->length(layer, list) - keys.begin;
  return keys;
}

void LayerStep::keep_lse() {
  if (lse.empty()) lse = workspace->lse.resize(*queue, int64_t{rows} * shape->heads);
}

AttendCall LayerStep::call(std::span<const View<const float>> queries,
                           const Rotations* rotations) const {
  AttendCall call;
  call.queue = queue;
  call.queries = queries;
  call.heads = shape->heads;
  call.head_dim = shape->head_dim;
  call.scale = shape->scale;
  call.rotations = rotations;
  call.compute = compute;
  return call;
}

void LayerStep::attend(std::span<const View<const float>> queries, std::span<KeySegment> segments,
                       int per_list, const Rotations* rotations, std::optional<int64_t> position) {
  LH_ASSERT(per_list > 0 && segments.size() % static_cast<size_t>(per_list) == 0);
  const int lists = static_cast<int>(segments.size()) / per_list;
  LH_ASSERT(lists > 0 && shape->heads % lists == 0);
  resolve_counts(*queue, segments);
  const int heads_per_list = shape->heads / lists;
  std::vector<AttendTask>& tasks = workspace->tasks;
  tasks.clear();
  for (int list = 0; list < lists; ++list) {
    if (!attends(list * kv_heads / lists)) continue;
    AttendTask task;
    task.head_begin = list * heads_per_list;
    task.head_count = heads_per_list;
    task.row_count = rows;
    task.row_position = position.value_or(begin);
    task.segments =
        segments.subspan(static_cast<size_t>(list * per_list), static_cast<size_t>(per_list));
    tasks.push_back(task);
  }
  attend(queries, tasks, rotations);
}

void LayerStep::attend(std::span<const View<const float>> queries,
                       std::span<const AttendTask> tasks, const Rotations* rotations) {
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
  workspace->dense_pairs += shape->heads * causal_pairs(begin, rows, own_window());
}

}  // namespace longhaul
