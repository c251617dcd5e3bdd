#include "attention/parts/last_rows.h"

#include <algorithm>

#include "ops/block_mass.h"

namespace longhaul {

void LastRows::look(LayerStep& step, int most) {
  constexpr int kBlock = 128;  // any: its masses are not used
  Queue& queue = *step.queue;
  const int group = step.group();
  rows_ = std::min(step.rows, most);
  keys_ = step.begin + step.rows;
  const View<float> columns = columns_.resize(queue, step.shape->heads * keys_);
  const View<float> diagonals = diagonals_.resize(queue, step.shape->heads * keys_);
  const int64_t each = int64_t{rows_} * group * block_count(keys_, kBlock);
  const View<float> mass = mass_.resize(queue, step.kv_heads * each);
  segments_.resize(static_cast<size_t>(step.kv_heads));
  tasks_.clear();
  sums_.clear();
  masses_.clear();
  for (int h = 0; h < step.kv_heads; ++h) {
    if (!step.attends(h)) continue;
    KeySegment& keys = segments_[static_cast<size_t>(h)] = step.all_keys(h);
    tasks_.push_back({h * group, group, step.rows - rows_, rows_, keys_ - rows_, {&keys, 1}});
    const int64_t first = h * group * keys_;
    sums_.push_back({columns.part(first, group * keys_), diagonals.part(first, group * keys_)});
    masses_.push_back(mass.part(h * each, each));
  }
  const View<const float> queries[] = {step.rotated_q()};
  AttendCall call = step.call(queries);
  call.lse = lse_.resize(queue, int64_t{step.rows} * step.shape->heads);
  call.known_lse = call.lse;
  block_mass(call, tasks_, kBlock, masses_);  // for the denominators
  line_sums(call, tasks_, sums_);
}

}  // namespace longhaul
