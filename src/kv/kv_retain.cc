// Removal of rows from a KvStore: keep() and drop(), which move the remaining rows of a list
// together, and truncate().

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "kv/kv_store.h"

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

/// Returns how many of the rows from rows[i] on have consecutive numbers.
int64_t run_length(std::span<const int32_t> rows, size_t i) {
  size_t end = i + 1;
  while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
  return static_cast<int64_t>(end - i);
}

}  // namespace

void KvStore::keep(int layer, std::span<const KeptList> lists) {
  std::vector<Chosen> chosen;
  for (const KeptList& stay : lists) {
    const View<const int32_t> rows = stay.rows.rows;
    if (queue_.on_host() || rows.place().host() || !stay.rows.count.empty()) {
      HostStage on(queue_);
      keep(layer, stay.list, host_rows(on_host(on, stay.rows)));
      // if the counts are equal, all rows are kept, because row numbers are ascending
    } else if (rows.size() < length(layer, stay.list)) {
      chosen.push_back({stay.list, rows});
    }
  }
  if (chosen.empty() || keep_there(layer, chosen)) return;
  for (const Chosen& each : chosen) {
    HostStage on(queue_);
    keep(layer, each.head, host(on(each.rows)));
  }
}

void KvStore::keep(int layer, int head, std::span<const int32_t> rows) {
  Head& h = at(layer, head);
  int64_t previous = -1;
  for (const int32_t row : rows) {
    LH_ASSERT(row > previous && row < h.length);
    previous = row;
  }
  size_t first = 0;  // rows before this one do not move
  while (first < rows.size() && rows[first] == static_cast<int64_t>(first)) ++first;
  if (static_cast<int64_t>(first) == h.length) return;

  if (!queue_.on_host()) {
    Array<int32_t> there;
    there.resize(queue_, std::ssize(rows));
    queue_.device().upload(rows.data(), there.view().address(), rows.size_bytes());
    const Chosen chosen{head, there.view()};
    if (keep_there(layer, {&chosen, 1})) return;
  }
  ask_tokens(h);
  take_to_change(h, static_cast<int64_t>(first));
  if (!queue_.on_host()) gather_by_host(h, rows);
  for (size_t i = first; i < rows.size() && queue_.on_host();) {
    const int64_t run = run_length(rows, i);
    move_rows(h, static_cast<int64_t>(i), rows[i], run);
    i += static_cast<size_t>(run);
  }
  const int64_t room = layout_.room_for(std::ssize(rows));
  for (Column& column : h.columns) column.values.keep(rows, first, room);
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

/// Prepares the pages from row `first` on for changes: loads them into memory, and removes their
/// copies on disk.
void KvStore::take_to_change(Head& h, int64_t first) {
  for (size_t page = static_cast<size_t>(first / layout_.page_rows); page < h.pages.size();
       ++page) {
    load(h, page);
    drop_slot(h, page);
  }
}

/// Moves rows [from, from + rows) of a list to the front. Rows move in ascending order, so that no
/// row is overwritten before it has moved. Whole pages are swapped instead of copied. The last page
/// of the list is swapped too, even if it is not full.
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
    const size_t keys = static_cast<size_t>(run) * form(h).key_bytes();
    const size_t values = static_cast<size_t>(run) * form(h).value_bytes();
    if (queue_.on_host()) {
      std::memmove(key_at(h, to), key_at(h, from), keys);
      std::memmove(value_at(h, to), value_at(h, from), values);
    } else {  // only for drop(): both rows have the same index in their pages
      queue_.device().copy(key_at(h, from), key_at(h, to), keys);
      queue_.device().copy(value_at(h, from), value_at(h, to), values);
    }
  }
}

/// Removes the rows from `length` on and releases their pages.
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
