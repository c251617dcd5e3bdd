#include "attention/placed_rows.h"

#include "attention/kept_rows.h"
#include "base/error.h"

namespace longhaul {

void PlacedRows::attend(LayerStep& step) {
  lse_.resize(static_cast<size_t>(step.rows * step.shape->heads));
  step.lse = lse_.data();
  if (placement_ == Placement::kList) return attend_in_list(step);
  attend_kept_rows(step, segments_);
  queries_ = step.rotated_q();
  position_ = step.begin;
}

void PlacedRows::attend_in_list(LayerStep& step) {
  position_ = step.store->length(step.layer, 0);
  step.store->append(step.layer, step.rows, step.k, step.v);
  table_ = &rotations_.up_to(step.shape->rope, position_ + step.rows);
  queries_ = step.rotated(step.q, step.shape->heads, *table_, position_, rotated_q_);
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    KeySegment keys = all_rows(*step.store, step.layer, head);
    keys.rotate = true;
    keys.see_within(step.shape->own_window(step.layer));
    segments_.push_back(keys);
  }
  step.attend({&queries_, 1}, segments_, 1, table_, position_);
}

void PlacedRows::add_columns(const LayerStep& step, int first_row, int64_t rows,
                             std::span<const ColumnTarget> targets, bool alone) {
  const int lists = static_cast<int>(segments_.size());
  const int heads = step.shape->heads / lists;
  LH_ASSERT(static_cast<int>(targets.size()) == lists);
  std::vector<KeySegment> first(segments_);
  std::vector<AttendTask> tasks;
  for (int list = 0; list < lists; ++list) {
    KeySegment& keys = first[static_cast<size_t>(list)];
    keys.count = std::min(keys.count, rows);
    tasks.push_back(
        {list * heads, heads, first_row, step.rows - first_row, position_ + first_row, {&keys, 1}});
  }
  AttendCall call = step.call({&queries_, 1}, table_);
  call.known_lse = lse_.data();
  if (alone) {
    call.lse = lse_.data();
    unused_.resize(lse_.size() * static_cast<size_t>(call.head_dim));
    call.out = unused_.data();
    longhaul::attend(call, tasks);
  }
  column_sums(call, tasks, targets);
}

void PlacedRows::add_to_column(const LayerStep& step, std::string_view name) {
  std::vector<ColumnTarget> targets;
  for (int list = 0; list < static_cast<int>(segments_.size()); ++list) {
    targets.push_back({step.store->column(step.layer, list, name).data()});
  }
  add_columns(step, 0, step.store->length(step.layer, 0), targets);
}

void PlacedRows::add_token_sums(const LayerStep& step, int first_row, std::span<float> sums,
                                bool alone) {
  const size_t rows = sums.size();
  columns_.assign(rows * segments_.size(), 0);
  std::vector<ColumnTarget> targets;
  for (size_t at = 0; at < columns_.size(); at += rows) targets.push_back({columns_.data() + at});
  add_columns(step, first_row, std::ssize(sums), targets, alone);
  for (size_t i = 0; i < columns_.size(); ++i) sums[i % rows] += columns_[i];
}

}  // namespace longhaul
