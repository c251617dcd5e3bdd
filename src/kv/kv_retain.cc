// What leaves the store: keep() and drop(), which compact a head in place, and truncate().

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "kv/kv_store.h"
#include "ops/device_ops.h"

namespace longhaul {
namespace {

template <class T>
void keep_values(std::vector<T>& values, std::span<const int32_t> rows, size_t first,
                 int64_t room) {
  for (size_t i = first; i < rows.size(); ++i) values[i] = values[static_cast<size_t>(rows[i])];
  values.resize(rows.size());
  set_room(values, room);
}

template <class T>
void drop_values(std::vector<T>& values, int64_t begin, int64_t end, int64_t room) {
  values.erase(values.begin() + begin, values.begin() + end);
  set_room(values, room);
}

/// Rows from rows[i] on that follow each other.
int64_t run_length(std::span<const int32_t> rows, size_t i) {
  size_t end = i + 1;
  while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
  return static_cast<int64_t>(end - i);
}

}  // namespace

void KvStore::keep(int layer, int head, std::span<const int32_t> rows) {
  keep(at(layer, head), rows, {});
}

void KvStore::keep(int layer, int head, const RowList& rows) {
  if (rows.count.empty() && keep_there(at(layer, head), rows.rows)) return;
  HostStage on(queue_);
  const std::span<const int32_t> here = host_rows(on_host(on, rows));
  const bool there = !rows.rows.place().host();
  keep(at(layer, head), here, there ? rows.rows.part(0, std::ssize(here)) : View<const int32_t>());
}

/// Rows that were chosen where the queue works stay without the host knowing which they are; false
/// where the device cannot do that.
bool KvStore::keep_there(Head& h, View<const int32_t> rows) {
  if (queue_.on_host() || rows.place().host()) return false;
  LH_ASSERT(rows.size() <= h.length);
  if (rows.size() == h.length) return true;  // ascending, each once: all
  take_to_change(h, 0);
  Head to;
  if (!gather_on_device(h, rows, to)) return false;
  keep_tokens_there(h, rows);
  for (Column& column : h.columns) {
    const bool kept = column.values.keep_there(rows);
    LH_ASSERT(kept);
  }
  release_from(h, 0);
  h.pages = std::move(to.pages);
  shorten(h, rows.size());
  return true;
}

void KvStore::keep_tokens_there(Head& h, View<const int32_t> rows) {
  if (!h.tokens.empty()) {
    h.chosen.memory.resize(queue_.shared_device(), h.tokens.size() * sizeof(int32_t));
    h.chosen.count = std::ssize(h.tokens);
    queue_.device().upload(h.tokens.data(), h.chosen.memory.data(),
                           h.tokens.size() * sizeof(int32_t));
    h.tokens = {};
  }
  ChosenTokens kept;
  kept.memory.resize(queue_.shared_device(), static_cast<size_t>(rows.size()) * sizeof(int32_t));
  kept.count = rows.size();
  const bool told = queue_.device().ops().kept_tokens(rows, h.chosen.view(queue_),
                                                      h.appended - h.length, kept.view(queue_));
  LH_ASSERT(told);
  h.chosen = std::move(kept);
}

/// Waits, where tokens were chosen on the device since it was asked last.
void KvStore::ask_tokens(const Head& h) const {
  if (h.chosen.count == 0) return;
  h.tokens.resize(static_cast<size_t>(h.length));
  const auto chosen = static_cast<size_t>(std::min(h.chosen.count, h.length));
  queue_.device().download(h.chosen.memory.data(), h.tokens.data(), chosen * sizeof(int32_t));
  std::iota(h.tokens.begin() + static_cast<std::ptrdiff_t>(chosen), h.tokens.end(),
            static_cast<int32_t>(h.appended - h.length + static_cast<int64_t>(chosen)));
  h.chosen = {};
}

/// `on_device`: the same rows where the queue works; empty: they are not there.
void KvStore::keep(Head& h, std::span<const int32_t> rows, View<const int32_t> on_device) {
  int64_t previous = -1;
  for (const int32_t row : rows) {
    LH_ASSERT(row > previous && row < h.length);
    previous = row;
  }
  size_t first = 0;  // rows before this one stay where they are
  while (first < rows.size() && rows[first] == static_cast<int64_t>(first)) ++first;
  if (static_cast<int64_t>(first) == h.length) return;

  ask_tokens(h);
  take_to_change(h, static_cast<int64_t>(first));
  if (!queue_.on_host()) keep_on_device(h, rows, first);
  for (size_t i = first; i < rows.size() && queue_.on_host();) {
    const int64_t run = run_length(rows, i);
    move_rows(h, static_cast<int64_t>(i), rows[i], run);
    i += static_cast<size_t>(run);
  }
  const int64_t room = layout_.room_for(std::ssize(rows));
  for (Column& column : h.columns) column.values.keep(rows, first, room, on_device);
  if (!h.tokens.empty()) {
    keep_values(h.tokens, rows, first, room);
  } else if (first < rows.size()) {
    h.tokens.assign(rows.begin(), rows.end());
  }
  shorten(h, std::ssize(rows));
}

void KvStore::drop(int layer, int head, int64_t begin, int64_t end) {
  Head& h = at(layer, head);
  LH_ASSERT(begin >= 0 && begin <= end && end <= h.length);
  if (begin == end) return;
  const int64_t behind = h.length - end, length = begin + behind;
  if (!queue_.on_host() && behind > 0 && (end - begin) % layout_.page_rows != 0) {
    std::vector<int32_t> stay(static_cast<size_t>(length));
    std::iota(stay.begin(), stay.begin() + begin, 0);
    std::iota(stay.begin() + begin, stay.end(), static_cast<int32_t>(end));
    return keep(layer, head, stay);
  }
  ask_tokens(h);
  take_to_change(h, begin);
  move_rows(h, begin, end, behind);
  const int64_t room = layout_.room_for(length);
  for (Column& column : h.columns) column.values.drop(begin, end, room);
  if (!h.tokens.empty()) {
    drop_values(h.tokens, begin, end, room);
  } else if (behind > 0) {
    h.tokens.resize(static_cast<size_t>(length));
    std::iota(h.tokens.begin(), h.tokens.begin() + begin, 0);
    std::iota(h.tokens.begin() + begin, h.tokens.end(), static_cast<int32_t>(end));
  }
  shorten(h, length);
}

/// Takes pages for the rows and has the device write them: one kernel, whatever the stretches.
bool KvStore::gather_on_device(const Head& h, View<const int32_t> rows, Head& to) {
  to.length = rows.size();
  while (std::ssize(to.pages) < layout_.pages_for(to.length)) {
    to.pages.push_back(memory_->acquire());
  }
  if (queue_.device().ops().gather_rows(rows_of(h), rows, rows_of(to))) return true;
  for (std::byte* page : to.pages) memory_->release(page);
  to.pages.clear();
  return false;
}

/// Rows from the page of rows[first] on go to pages of their own, in which they lie one behind the
/// other.
void KvStore::keep_on_device(Head& h, std::span<const int32_t> rows, size_t first) {
  const size_t page = first / static_cast<size_t>(layout_.page_rows);
  const auto moved = rows.subspan(page * static_cast<size_t>(layout_.page_rows));
  Head to;
  if (!gather_on_device(h, moved, to)) gather_by_host(h, moved, to);
  release_from(h, page);
  h.pages.insert(h.pages.end(), to.pages.begin(), to.pages.end());
}

void KvStore::gather_by_host(const Head& h, std::span<const int32_t> rows, Head& to) {
  const size_t key = layout_.key_bytes(), value = layout_.value_bytes();
  const size_t values = layout_.values_at();
  const auto per_page = static_cast<size_t>(layout_.page_rows);
  HostStage on(queue_);
  std::vector<std::byte> gathered(layout_.page_bytes());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    const std::byte* const page = on.bytes(h.pages[row / per_page], layout_.page_bytes());
    const size_t old = row % per_page, now = i % per_page;
    std::memcpy(gathered.data() + now * key, page + old * key, key);
    std::memcpy(gathered.data() + values + now * value, page + values + old * value, value);
    if (i + 1 < rows.size() && (i + 1) % per_page != 0) continue;
    to.pages.push_back(memory_->acquire());
    queue_.device().upload(gathered.data(), to.pages.back(), layout_.page_bytes());
  }
}

/// Brings the pages from row `first` on into memory, to be changed: what the slower tier holds of
/// them is no longer true.
void KvStore::take_to_change(Head& h, int64_t first) {
  for (size_t page = static_cast<size_t>(first / layout_.page_rows); page < h.pages.size();
       ++page) {
    load(h, page);
    drop_slot(h, page);
  }
}

/// Moves rows towards the front, in ascending order, so that nothing is overwritten before it
/// moved. Whole pages change places; so does the last page of the head, however few rows it holds,
/// since what lies behind them is void.
void KvStore::move_rows(Head& h, int64_t to, int64_t from, int64_t rows) {
  LH_ASSERT(to <= from);
  const int64_t per_page = layout_.page_rows;
  for (int64_t moved = 0, run = 0; moved < rows; moved += run, to += run, from += run) {
    run = std::min(rows - moved, per_page - std::max(to % per_page, from % per_page));
    const size_t to_page = static_cast<size_t>(to / per_page);
    const bool last = from + run == h.length;
    if (to % per_page == 0 && from % per_page == 0 && (run == per_page || last)) {
      std::swap(h.pages[to_page], h.pages[static_cast<size_t>(from / per_page)]);
      h.changed(to_page);
      continue;
    }
    make_writable(h, to_page);
    const size_t keys = static_cast<size_t>(run) * layout_.key_bytes();
    const size_t values = static_cast<size_t>(run) * layout_.value_bytes();
    if (queue_.on_host()) {
      std::memmove(key_at(h, to), key_at(h, from), keys);
      std::memmove(value_at(h, to), value_at(h, from), values);
    } else {  // drop(): the same rows of another page
      queue_.device().copy(key_at(h, from), key_at(h, to), keys);
      queue_.device().copy(value_at(h, from), value_at(h, to), values);
    }
  }
}

/// The rows from `length` on are void: gives their pages back.
void KvStore::shorten(Head& h, int64_t length) {
  h.length = length;
  release_from(h, static_cast<size_t>(layout_.pages_for(length)));
}

void KvStore::truncate(int layer, int head, int64_t length) {
  Head& h = at(layer, head);
  LH_ASSERT(length >= 0);
  if (length >= h.length) return;
  h.appended = token_of(layer, head, length);
  const int64_t room = layout_.room_for(length);
  if (!h.tokens.empty()) h.tokens.resize(h.appended == length ? 0 : static_cast<size_t>(length));
  set_room(h.tokens, h.tokens.empty() ? 0 : room);
  for (Column& column : h.columns) {
    column.values.resize(length, room);
  }
  shorten(h, length);
}

void KvStore::truncate(int64_t length) {
  for (int layer = 0; layer < layout_.layers(); ++layer) {
    for (int h = 0; h < layout_.heads[static_cast<size_t>(layer)]; ++h) truncate(layer, h, length);
  }
}

}  // namespace longhaul
