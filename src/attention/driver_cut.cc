// A cut evicts rows of a layer's lists: the scored rows, their evidence, and the selection.

#include <algorithm>
#include <utility>

#include "attention/driver.h"
#include "base/nth.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {

/// Cuts the layer's lists to their budget. If all layers decide together, the layer is only
/// recorded, and cut_by_own_rule() or keep_dealt() cuts it later.
void AttentionDriver::cut(KvStore& store, int layer) {
  const Plan& how = plan(layer, 0);
  Cut cut{queue_, shape_, how, store, layer, store.lists(layer), tokens_};
  const bool over_all = how.keep.budget == kNoBound;
  LH_ASSERT(how.keep.when == When::kPromptEnd || (!over_all && how.keep.sure_share < 0));
  if (over_all) {
    own_cuts_.push_back(cut);
  } else {
    cut_to_budget(cut);
  }
}

void AttentionDriver::cut_to_budget(Cut& cut) {
  const Plan& how = cut.plan;
  cut.stay = how.keep.whole_strides ? target_ : how.keep.budget;
  cut.recent = how.keep.recent;
  if (how.keep.when == When::kPromptEnd && how.observes_last_rows()) {
    cut.recent =
        std::min(cut.recent, nth(observed_, cut.layer).count());  // a shorter prompt has fewer rows
  }
  int64_t held = 0, lists = cut.lists;
  for (int list = 0; list < cut.lists; ++list) held += cut.rows(list);
  if (how.keep.sure_share >= 0) {  // dealt lists differ in length: devices read all counts together
    held = queue_.sum_of_members(held);
    lists *= queue_.ranks();
  }
  if (held <= cut.stay * lists) return;
  judge(cut);
  keep_best(cut);
  changed_ = true;
}

void AttentionDriver::cut_by_own_rule() {
  own_kept_.resize(own_cuts_.size());
  for (std::vector<StayingRows>& of_layer : own_kept_) of_layer.clear();
  method_->choose(own_cuts_, own_kept_);
  for (size_t i = 0; i < own_cuts_.size(); ++i) {
    own_cuts_[i].store.keep(own_cuts_[i].layer, own_kept_[i]);
  }
}

/// Calls the method to score the rows of all lists.
void AttentionDriver::judge(Cut& cut) {
  const bool watched = cut.plan.observes_last_rows();
  int64_t rows = 0;
  for (int list = 0; list < cut.lists; ++list) rows += cut.rows(list);
  const View<float> scores = scores_.resize(queue_, rows);
  const View<float> paid = paid_.resize(queue_, watched ? rows : 0);
  keys_.clear();
  score_views_.clear();
  received_targets_.clear();
  received_views_.clear();
  int64_t at = 0;
  for (int list = 0; list < cut.lists; ++list) {
    keys_.push_back(cut.store.rows(cut.layer, list));
    score_views_.push_back(scores.part(at, cut.rows(list)));
    if (watched) received_targets_.push_back(paid.part(at, cut.rows(list)));
    at += cut.rows(list);
  }
  cut.keys = keys_;
  if (watched) {
    fill(queue_, paid, 0);
    score_observed_rows(cut);
  }
  cut.paid = received_views_;
  cut.scores = score_views_;
  method_->score(cut);
}

/// The attention that the rows of all lists received from the observation window.
void AttentionDriver::score_observed_rows(const Cut& cut) {
  AttendCall call = shape_.call(queue_, cut.layer);
  call.compute = compute_;
  segments_.assign(received_targets_.size(), {});
  int64_t longest = 0;
  for (int list = 0; list < cut.lists; ++list) {
    KeySegment& keys = nth(segments_, list);
    keys.rows = nth(cut.keys, list);
    keys.count = cut.rows(list);
    keys.rotate = cut.plan.see.place == KeyPlace::kCache;
    longest = std::max(longest, keys.count);
  }
  if (cut.plan.see.place == KeyPlace::kCache) {
    call.rotations =
        &rotations_.of(shape_, cut.layer).up_to(queue_, shape_.rope_of(cut.layer), longest);
  }
  nth(observed_, cut.layer).attention_received(call, segments_, received_targets_);
  received_views_.assign(received_targets_.begin(), received_targets_.end());
}

void AttentionDriver::keep_best(const Cut& cut) {
  const Keep& keep = cut.plan.keep;
  const RowsToKeep stay{keep.sink, cut.recent, cut.stay};
  if (keep.sure_share >= 0) return deal(cut, stay);
  selections_.resize(static_cast<size_t>(cut.lists));
  kept_.resize(static_cast<size_t>(cut.lists));
  if (keep.chooser == Chooser::kLayer) {
    const View<float> sums = layer_scores_.resize(queue_, cut.rows(0));
    sum_lists(queue_, scores_.view(), sums);
    all_reduce(queue_, sums);
    kept_.assign(kept_.size(), select_rows(queue_, sums, stay, selections_.front()));
  } else {
    received_views_.assign(score_views_.begin(), score_views_.end());
    select_rows(queue_, received_views_, stay, selections_, kept_);
  }
  this->keep(cut, kept_);
}

void AttentionDriver::keep(const Cut& cut, std::span<const RowList> kept) {
  staying_.clear();
  for (int list = 0; list < cut.lists; ++list) staying_.push_back({list, nth(kept, list)});
  cut.store.keep(cut.layer, staying_);
}

/// The scores of each of the layer's lists, [rows]. In a team the lists of all devices follow each
/// other.
std::span<const View<const float>> AttentionDriver::dealt_scores(const Cut& cut) {
  received_views_.assign(score_views_.begin(), score_views_.end());
  if (queue_.communicator() == nullptr) return received_views_;
  std::vector<int64_t> own;
  int64_t total = 0;
  for (int list = 0; list < cut.lists; ++list) total += own.emplace_back(cut.rows(list));
  own.push_back(total);
  // Every device gathers as many numbers as the device with the longest lists.
  const std::vector<int64_t> said = queue_.communicator()->all_gather(queue_.rank(), own);
  const int64_t each = std::ssize(own);
  int64_t most = 0;
  for (int rank = 0; rank < queue_.ranks(); ++rank) {
    most = std::max(most, nth(said, rank * each + cut.lists));
  }
  const View<float> padded = padded_scores_.resize(queue_, most);
  fill(queue_, padded, 0);
  copy(queue_, scores_.view().part(0, total), padded.part(0, total));
  const View<float> all = all_scores_.resize(queue_, most * queue_.ranks());
  all_gather<float>(queue_, padded, all);
  received_views_.clear();
  for (int rank = 0; rank < queue_.ranks(); ++rank) {
    int64_t at = most * rank;
    for (int list = 0; list < cut.lists; ++list) {
      const int64_t rows = nth(said, rank * each + list);
      received_views_.push_back(all.part(at, rows));
      at += rows;
    }
  }
  return received_views_;
}

void AttentionDriver::deal(const Cut& cut, const RowsToKeep& stay) {
  const auto floor = static_cast<int64_t>(cut.plan.keep.sure_share * static_cast<double>(cut.stay));
  const int64_t sure = std::max<int64_t>(0, floor - stay.first - stay.last);
  const std::span<const View<const float>> scores = dealt_scores(cut);
  const int64_t sharing = std::ssize(scores);
  RowsToKeep all = stay;
  all.count *= sharing;
  if (waiting_ == 0) {
    int64_t lists = 0;
    for (int layer = 0; layer < shape_.layers; ++layer) lists += cut.store.lists(layer);
    counts_.resize(queue_, lists * queue_.ranks());
    next_count_ = 0;
  }
  if (dealt_.size() == waiting_) dealt_.emplace_back();
  Dealt& dealt = dealt_[waiting_];
  dealt.layer = cut.layer;
  dealt.first = queue_.rank() * cut.lists;
  dealt.lists = cut.lists;
  dealt.selections.resize(scores.size());
  dealt.kept.resize(scores.size());
  select_rows_dealt(queue_, scores, all, sure, dealt.selections, dealt.kept,
                    counts_.view().part(next_count_, sharing));
  if (dealt.kept.front().count.empty()) return keep(cut, dealt.own());
  ++waiting_;
  next_count_ += sharing;
}

/// Waits if a device has divided budgets.
void AttentionDriver::keep_dealt(KvStore& store) {
  if (waiting_ == 0) return;
  const std::vector<int32_t> counts = read_counts(queue_, counts_.view().part(0, next_count_));
  int64_t next = 0;
  for (const Dealt& dealt : std::span(dealt_).first(std::exchange(waiting_, 0))) {
    staying_.clear();
    for (int list = 0; list < dealt.lists; ++list) {
      const int64_t stay = nth(counts, next + dealt.first + list);
      staying_.push_back({list, {nth(dealt.own(), list).rows.part(0, stay), {}}});
    }
    next += std::ssize(dealt.kept);
    store.keep(dealt.layer, staying_);
  }
}

}  // namespace longhaul
