// A cut of a layer's lists: what is judged, by what, and what stays.

#include <algorithm>

#include "attention/driver.h"
#include "base/nth.h"
#include "ops/fill.h"

namespace longhaul {

void AttentionDriver::cut(KvStore& store, int layer) {
  const Plan& how = plan(layer, 0);
  const int lists = store.lists(layer);
  Cut cut{queue_, shape_, how, store, layer, lists, tokens_};
  if (how.keep.budget == kNoBound) return cut_by_own_rule(cut);
  cut.stay = how.keep.whole_strides ? target_ : how.keep.budget;
  cut.recent = how.keep.recent;
  if (how.keep.when == When::kPromptEnd && how.watches_last_rows()) {
    cut.recent =
        std::min(cut.recent, nth(observed_, layer).count());  // of a shorter prompt its own rows
  }
  int64_t held = 0;
  for (int list = 0; list < lists; ++list) held += cut.rows(list);
  if (held <= cut.stay * lists) return;
  judge(cut);
  keep_best(cut);
  changed_ = true;
}

void AttentionDriver::cut_by_own_rule(const Cut& cut) {
  for (int list = 0; list < cut.lists; ++list) {
    RowList kept;
    if (method_->choose(cut, list, kept)) cut.store.keep(cut.layer, list, kept);
  }
}

/// Has the rows of all lists scored.
void AttentionDriver::judge(Cut& cut) {
  const bool watched = cut.plan.watches_last_rows();
  int64_t rows = 0;
  for (int list = 0; list < cut.lists; ++list) rows += cut.rows(list);
  const View<float> scores = scores_.resize(queue_, rows);
  const View<float> paid = paid_.resize(queue_, watched ? rows : 0);
  keys_.clear();
  score_views_.clear();
  paid_targets_.clear();
  paid_views_.clear();
  int64_t at = 0;
  for (int list = 0; list < cut.lists; ++list) {
    keys_.push_back(cut.store.rows(cut.layer, list));
    score_views_.push_back(scores.part(at, cut.rows(list)));
    if (watched) paid_targets_.push_back(paid.part(at, cut.rows(list)));
    at += cut.rows(list);
  }
  cut.keys = keys_;
  if (watched) ask_watched_rows(cut);
  cut.paid = paid_views_;
  cut.scores = score_views_;
  method_->score(cut);
}

/// What the watched rows paid to the rows of all lists.
void AttentionDriver::ask_watched_rows(const Cut& cut) {
  AttendCall call = shape_.call(queue_);
  call.compute = compute_;
  segments_.assign(paid_targets_.size(), {});
  int64_t longest = 0;
  for (int list = 0; list < cut.lists; ++list) {
    KeySegment& keys = nth(segments_, list);
    keys.rows = nth(cut.keys, list);
    keys.count = cut.rows(list);
    keys.rotate = cut.plan.see.place == KeyPlace::kList;
    longest = std::max(longest, keys.count);
  }
  if (cut.plan.see.place == KeyPlace::kList) {
    call.rotations =
        &rotations_.of(shape_, cut.layer).up_to(queue_, shape_.rope_of(cut.layer), longest);
  }
  nth(observed_, cut.layer).attention_paid(call, segments_, paid_targets_);
  paid_views_.assign(paid_targets_.begin(), paid_targets_.end());
}

void AttentionDriver::keep_best(const Cut& cut) {
  const Keep& keep = cut.plan.keep;
  const RowsToKeep stay{keep.sink, cut.recent, cut.stay};
  selections_.resize(static_cast<size_t>(cut.lists));
  kept_.resize(static_cast<size_t>(cut.lists));
  if (keep.chooser == Chooser::kLayer) {
    const View<float> sums = layer_scores_.resize(queue_, cut.rows(0));
    sum_lists(queue_, scores_.view(), sums);
    kept_.assign(kept_.size(), select_rows(queue_, sums, stay, selections_.front()));
  } else if (keep.sure_share >= 0) {
    const auto floor = static_cast<int64_t>(keep.sure_share * static_cast<double>(cut.stay));
    const int64_t sure = std::max<int64_t>(0, floor - keep.sink - cut.recent);
    paid_views_.assign(score_views_.begin(), score_views_.end());
    RowsToKeep all = stay;
    all.count *= cut.lists;
    select_rows_dealt(queue_, paid_views_, all, sure, selections_, kept_);
  } else {
    for (size_t list = 0; list < kept_.size(); ++list) {
      kept_[list] = select_rows(queue_, score_views_[list], stay, selections_[list]);
    }
  }
  for (size_t list = 0; list < kept_.size(); ++list) {
    cut.store.keep(cut.layer, static_cast<int>(list), kept_[list]);
  }
}

}  // namespace longhaul
