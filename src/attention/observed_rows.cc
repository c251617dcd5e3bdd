#include "attention/observed_rows.h"

#include <algorithm>

#include "attention/kept_rows.h"
#include "ops/column_sums.h"

namespace longhaul {
namespace {

/// `kept` becomes its last rows followed by the last of `fresh`, `most` rows in all.
void slide(std::vector<float>& kept, const float* fresh, int64_t rows, int64_t most,
           int64_t width) {
  const int64_t taken = std::min(rows, most);
  const int64_t have = static_cast<int64_t>(kept.size()) / width;
  const int64_t dropped = std::max<int64_t>(0, have + taken - most);
  kept.reserve(static_cast<size_t>((have - dropped + taken) * width));  // and no more than that
  kept.erase(kept.begin(), kept.begin() + dropped * width);
  kept.insert(kept.end(), fresh + (rows - taken) * width, fresh + rows * width);
}

}  // namespace

ObservedRows::ObservedRows(const ModelShape& shape, int64_t rows)
    : shape_(shape), most_(rows), layers_(static_cast<size_t>(shape.layers)) {}

size_t ObservedRows::bytes_for(const ModelShape& shape, int64_t rows) {
  const int64_t numbers = shape.layers * rows * shape.heads * (shape.head_dim + 1);
  return static_cast<size_t>(numbers) * sizeof(float);
}

void ObservedRows::clear() {
  for (Layer& layer : layers_) layer = {};
}

void ObservedRows::add(LayerStep& step, const float* lse) {
  Layer& layer = layers_[static_cast<size_t>(step.layer)];
  forget_from(layer, step.begin);
  slide(layer.queries, step.rotated_q(), step.rows, most_, shape_.heads * shape_.head_dim);
  slide(layer.lse, lse, step.rows, most_, shape_.heads);
  layer.count = std::min(layer.count + step.rows, most_);
  layer.end = step.begin + step.rows;
  compute_ = step.compute;
}

/// Rows that were taken back since (AttentionMethod::can_rewind).
void ObservedRows::forget_from(Layer& layer, int64_t position) const {
  const int64_t stale = std::clamp<int64_t>(layer.end - position, 0, layer.count);
  layer.count -= stale;
  layer.queries.resize(static_cast<size_t>(layer.count * shape_.heads * shape_.head_dim));
  layer.lse.resize(static_cast<size_t>(layer.count * shape_.heads));
}

std::vector<std::vector<float>> ObservedRows::attention_paid(const KvStore& store,
                                                             int layer) const {
  const Layer& observed = at(layer);
  const int lists = store.layout().heads[static_cast<size_t>(layer)];
  const float* queries[] = {observed.queries.data()};
  AttendCall call;
  call.queries = queries;
  call.heads = shape_.heads;
  call.head_dim = shape_.head_dim;
  call.scale = shape_.scale;
  call.compute = compute_;
  call.known_lse = observed.lse.data();
  std::vector<std::vector<float>> paid(static_cast<size_t>(lists));
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<ColumnTarget> targets;
  for (int list = 0; list < lists; ++list) segments.push_back(all_rows(store, layer, list));
  for (int list = 0; list < lists; ++list) {
    const KeySegment& keys = segments[static_cast<size_t>(list)];
    std::vector<float>& sums = paid[static_cast<size_t>(list)];
    sums.resize(static_cast<size_t>(keys.count));
    AttendTask task;
    task.head_count = shape_.heads / lists;
    task.head_begin = list * task.head_count;
    task.row_count = static_cast<int>(observed.count);
    task.row_position = keys.count - observed.count;
    task.segments = {&keys, 1};
    tasks.push_back(task);
    targets.push_back({sums.data()});
  }
  column_sums(call, tasks, targets);
  return paid;
}

}  // namespace longhaul
