#include "attention/parts/observed_rows.h"

#include <algorithm>

#include "ops/fill.h"

namespace longhaul {

ObservedRows::ObservedRows(const ModelShape& shape, int64_t rows)
    : shape_(&shape), most_(rows), layers_(static_cast<size_t>(shape.layers)) {}

size_t ObservedRows::bytes_for(const ModelShape& shape, int64_t rows) {
  const int64_t numbers = shape.layers * rows * shape.heads * (shape.head_dim + 1);
  return static_cast<size_t>(numbers) * sizeof(float);
}

void ObservedRows::clear() {
  for (Layer& layer : layers_) layer = {};
}

void ObservedRows::add(const LayerStep& step) {
  Layer& layer = layers_[static_cast<size_t>(step.layer)];
  const int64_t width = int64_t{shape_->heads} * shape_->head_dim;
  // Rows that were taken back since (a pass that was cancelled).
  const int64_t stale = std::clamp<int64_t>(layer.end - step.begin, 0, layer.queries.rows());
  layer.queries.drop_last(stale, width);
  layer.lse.drop_last(stale, shape_->heads);
  layer.queries.push(*step.queue, step.workspace->attended.queries, step.rows, width, most_);
  layer.lse.push(*step.queue, step.lse, step.rows, shape_->heads, most_);
  layer.end = step.begin + step.rows;
  compute_ = step.compute;
}

void ObservedRows::attention_paid(Queue& queue, const KvStore& store, int layer, KeyPlace place,
                                  std::span<const View<float>> paid) {
  Layer& observed = layers_[static_cast<size_t>(layer)];
  const int lists = static_cast<int>(paid.size()), heads = shape_->heads / lists;
  const int64_t rows = observed.queries.rows();
  segments_.assign(paid.size(), {});
  tasks_.clear();
  targets_.clear();
  int64_t longest = 0;
  for (int list = 0; list < lists; ++list) {
    KeySegment& keys = segments_[static_cast<size_t>(list)];
    keys.rows = store.rows(layer, list);
    keys.count = store.length(layer, list);
    keys.rotate = place == KeyPlace::kList;
    longest = std::max(longest, keys.count);
    fill(queue, paid[static_cast<size_t>(list)], 0);
    tasks_.push_back(
        {list * heads, heads, 0, static_cast<int>(rows), keys.count - rows, {&keys, 1}});
    targets_.push_back({paid[static_cast<size_t>(list)], {}});
  }
  const View<const float> queries = observed.queries.view();
  AttendCall call;
  call.queue = &queue;
  call.queries = {&queries, 1};
  call.heads = shape_->heads;
  call.head_dim = shape_->head_dim;
  call.scale = shape_->scale;
  call.compute = compute_;
  call.known_lse = observed.lse.view();
  if (place == KeyPlace::kList) call.rotations = &rotations_.up_to(shape_->rope, longest);
  column_sums(call, tasks_, targets_);
}

}  // namespace longhaul
