#include "kv/keep_batch.h"

#include <algorithm>

#include "base/error.h"
#include "base/on_device.h"

namespace longhaul {

bool KvStore::can_keep_in_place(const Head& h, int64_t rows) const {
  const int64_t leaving = h.length - rows;
  return h.alone && h.slots.empty() && leaving > 0 && leaving <= layout_.page_rows;
}

bool KvStore::can_keep_in_place(int layer, int64_t rows) const {
  if (queue_.on_host() || !has(kKeepRows, queue_)) return false;
  for (int list = 0; list < lists(layer); ++list) {
    if (!can_keep_in_place(at(layer, list), rows)) return false;
  }
  return true;
}

bool KeepBatch::fits(const KvStore& store, int layer, std::span<const KvStore::Chosen> lists) {
  if (store.queue_.on_host() || !has(kKeepRows, store.queue_)) return false;
  return std::ranges::all_of(lists, [&](const KvStore::Chosen& each) {
    return store.can_keep_in_place(store.at(layer, each.head), each.rows.size());
  });
}

bool KeepBatch::add(KvStore& store, int layer, std::span<const KeptList> lists) {
  chosen_.clear();
  for (const KeptList& stay : lists) {
    if (stay.rows.rows.place().host() || !stay.rows.count.empty()) return false;
    chosen_.push_back({stay.list, stay.rows.rows});
  }
  return add(store, layer, chosen_);
}

bool KeepBatch::add(KvStore& store, int layer, std::span<const KvStore::Chosen> lists) {
  if (!fits(store, layer, lists)) return false;
  for (const KvStore::Chosen& each : lists) add_list(store, layer, each);
  return true;
}

void KeepBatch::add_list(KvStore& store, int layer, const KvStore::Chosen& list) {
  KvStore::Head& h = store.at(layer, list.head);
  const int64_t length = list.rows.size();
  store.tell_tokens(h);
  const PagedRows pages = store.rows(layer, list.head);
  rows_.push_back({pages, list.rows, pages});
  for (KvStore::Column& column : h.columns) {
    const View<float> values = column.values.view();
    numbers_.push_back({list.rows, values.address(), values.address(), values.size(), 0});
  }
  // Token numbers move within their memory, unless a copy of the store shares this memory.
  KvStore::ChosenTokens kept = h.chosen;
  const size_t bytes = static_cast<size_t>(length) * sizeof(int32_t);
  constexpr int kOwners = 2;  // the list and `kept`
  if (kept.memory == nullptr || kept.memory.use_count() > kOwners || kept.bytes() < bytes) {
    kept.memory = std::make_shared<DeviceBuffer>();
    kept.memory->resize(store.queue_.shared_device(), bytes);
  }
  const View<int32_t> told = h.chosen.view(store.queue_);
  numbers_.push_back({list.rows, told.address(), kept.memory->data(), told.size(),
                      told.empty() ? 0 : h.appended - h.length});
  kept.count = length;
  lists_.push_back({&store, &h, std::move(kept)});
}

bool KeepBatch::run(Queue& queue) {
  const auto same = [&](const PagedRows& a, const PagedRows& b) {
    return a.type == b.type && a.head_dim == b.head_dim && a.page_rows == b.page_rows;
  };
  bool done = true;
  for (size_t first = 0, end = 0, number = 0; first < rows_.size() && done; first = end) {
    const size_t first_number = number;  // the columns of a list follow those of the previous list
    for (; end < rows_.size() && same(rows_[first].from, rows_[end].from); ++end) {
      number += lists_[end].head->columns.size() + 1;
    }
    done = on_device(kKeepRows, queue, std::span(rows_).subspan(first, end - first),
                     std::span(numbers_).subspan(first_number, number - first_number));
    LH_ASSERT(done || first == 0);
  }
  if (done) shorten();
  clear();
  return done;
}

void KeepBatch::clear() {
  rows_.clear();
  numbers_.clear();
  lists_.clear();
}

/// Sets the new lengths of all lists. A page for the next row is kept, so that its address remains
/// in the PageTable.
void KeepBatch::shorten() {
  for (Shorter& each : lists_) {
    KvStore::Head& h = *each.head;
    if (h.chosen.bytes() != each.tokens.bytes()) each.store->forget_bytes();
    h.chosen = std::move(each.tokens);
    h.length = h.chosen.count;
    const auto pages = static_cast<size_t>(each.store->layout_.pages_for(h.length + 1));
    if (pages < h.pages.size()) each.store->release_from(h, pages);
    for (KvStore::Column& column : h.columns) column.values.shrunk(h.length);
  }
}

}  // namespace longhaul
