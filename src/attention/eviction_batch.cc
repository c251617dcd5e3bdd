#include "attention/eviction_batch.h"

#include <algorithm>

#include "base/assert.h"
#include "base/nth.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

int64_t queries_of_row(const AttendCall& call) { return int64_t{call.heads} * call.head_dim; }

/// Returns the index of the call's row in arrays of queries and lse that begin with the row of
/// `first`. Returns -1 if the two calls do not use the same arrays.
int64_t row_after(const AttendCall& first, const AttendCall& call) {
  const int64_t queries = call.queries.front().address() - first.queries.front().address();
  const int64_t lse = call.lse_in.address() - first.lse_in.address(), width = queries_of_row(call);
  return queries % width == 0 && lse == queries / width * call.heads ? queries / width : -1;
}

}  // namespace

bool EvictionBatch::joins_first(const DueLists& due) const {
  const AttendCall &first = entries_.front().due.call, &call = due.call;
  return first.heads == call.heads && first.head_dim == call.head_dim &&
         first.scale == call.scale && first.cap == call.cap && first.compute == call.compute &&
         row_after(first, call) > 0;
}

bool EvictionBatch::add(const DueLists& due) {
  LH_ASSERT(due.call.queries.size() == 1);
  const int lists = due.store->lists(due.layer);
  if (lists == 0 || !due.store->can_keep_in_place(due.layer, due.keep.count)) return false;
  for (int list = 0; list < lists && due.by_layer; ++list) {
    if (due.store->length(due.layer, list) != due.store->length(due.layer, 0)) return false;
  }
  if (!entries_.empty() && !joins_first(due)) return false;
  Entry entry{due};
  if (!entries_.empty()) {
    entry.row = static_cast<int>(row_after(entries_.front().due.call, due.call));
  }
  entry.first_list = this->lists();
  entry.lists = static_cast<size_t>(lists);
  entries_.push_back(entry);
  return true;
}

void EvictionBatch::run(Queue& queue) {
  if (entries_.empty()) return;
  try {
    find_received(queue);
    add_up(queue);
    select(queue);
    keep(queue);
  } catch (...) {
    moves_.clear();
    shrink(0);
    throw;
  }
  shrink(0);
}

/// Computes the attention that the rows of all lists received from the last query row of their
/// sequence.
void EvictionBatch::find_received(Queue& queue) {
  segments_.assign(lists(), {});
  int64_t rows = 0;
  for (const Entry& entry : entries_) {
    for (size_t i = 0; i < entry.lists; ++i) {
      KeySegment& keys = segments_[entry.first_list + i];
      keys.rows = entry.due.store->rows(entry.due.layer, static_cast<int>(i));
      keys.count = entry.due.store->length(entry.due.layer, static_cast<int>(i));
      rows += keys.count;
    }
  }
  const View<float> received = received_.resize(queue, rows);
  fill(queue, received, 0);
  received_views_.clear();
  tasks_.clear();
  targets_.clear();
  int64_t at = 0;
  for (const Entry& entry : entries_) {
    const int heads = entry.due.call.heads / static_cast<int>(entry.lists);
    for (size_t i = 0; i < entry.lists; ++i) {
      const KeySegment& keys = segments_[entry.first_list + i];
      received_views_.push_back(received.part(at, keys.count));
      at += keys.count;
      tasks_.push_back(
          {static_cast<int>(i) * heads, heads, entry.row, 1, keys.count - 1, {&keys, 1}});
      targets_.push_back({received_views_.back(), {}});
    }
  }
  AttendCall call = entries_.front().due.call;
  const int64_t used = entries_.back().row + 1;
  const View<const float> queries{call.queries.front().address(), used * queries_of_row(call),
                                  queue.place()};
  call.queries = {&queries, 1};
  call.lse_in = {call.lse_in.address(), used * call.heads, queue.place()};
  column_sums(call, tasks_, targets_);
}

/// Sets scores_: the received attention of each list, or its sum over the lists of a layer
/// (DueLists::by_layer).
void EvictionBatch::add_up(Queue& queue) {
  int64_t rows = 0;
  for (const Entry& entry : entries_) {
    if (entry.due.by_layer) rows += nth(received_views_, entry.first_list).size();
  }
  const View<float> sums = sums_.resize(queue, rows);
  std::vector<View<const float>>& lists = scores_;  // at first: the lists whose attention is summed
  lists.clear();
  sum_views_.clear();
  int64_t at = 0, first = 0;
  for (const Entry& entry : entries_) {
    const int64_t each = nth(received_views_, entry.first_list).size();
    int64_t all = 0;
    for (size_t i = 0; i < entry.lists; ++i) all += received_views_[entry.first_list + i].size();
    if (entry.due.by_layer) {
      lists.push_back(received_.view().part(first, all));
      sum_views_.push_back(sums.part(at, each));
      at += each;
    }
    first += all;
  }
  if (!lists.empty()) sum_groups(queue, lists, sum_views_);
  scores_.clear();
  size_t sum = 0;
  for (Entry& entry : entries_) {
    entry.first_choice = scores_.size();
    entry.choices = entry.due.by_layer ? 1 : entry.lists;
    if (entry.due.by_layer) {
      scores_.push_back(sum_views_[sum++]);
      continue;
    }
    for (size_t i = 0; i < entry.lists; ++i) {
      scores_.push_back(received_views_[entry.first_list + i]);
    }
  }
}

/// Selects the rows to keep. Adjacent entries with equal RowsToKeep use one operation.
void EvictionBatch::select(Queue& queue) {
  if (selections_.size() < scores_.size()) selections_.resize(scores_.size());
  kept_.resize(scores_.size());
  const auto same = [](const RowsToKeep& a, const RowsToKeep& b) {
    return a.first == b.first && a.last == b.last && a.count == b.count;
  };
  for (auto from = entries_.begin(), to = from; from != entries_.end(); from = to) {
    to = std::find_if(from, entries_.end(),
                      [&](const Entry& e) { return !same(e.due.keep, from->due.keep); });
    const size_t first = from->first_choice;
    const size_t count = std::prev(to)->first_choice + std::prev(to)->choices - first;
    select_rows(queue, std::span(scores_).subspan(first, count), from->due.keep,
                std::span(selections_).subspan(first, count),
                std::span(kept_).subspan(first, count));
  }
}

void EvictionBatch::keep(Queue& queue) {
  for (const Entry& entry : entries_) {
    kept_lists_.clear();
    for (size_t i = 0; i < entry.lists; ++i) {
      const size_t choice = entry.first_choice + (entry.due.by_layer ? 0 : i);
      kept_lists_.push_back({static_cast<int>(i), kept_[choice]});
    }
    if (moves_.add(*entry.due.store, entry.due.layer, kept_lists_)) continue;
    entry.due.store->keep(entry.due.layer, kept_lists_);
  }
  const bool moved = moves_.run(queue);
  LH_ASSERT(moved);
}

}  // namespace longhaul
