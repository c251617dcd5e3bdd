// What leaves the store: keep(), which compacts a head in place, and truncate().

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "kv/kv_store.h"
#include "kv/row_numbers.h"

namespace longhaul {
namespace {

template <class T>
void keep_values(std::vector<T>& values, std::span<const int32_t> rows, size_t first,
                 int64_t room) {
  for (size_t i = first; i < rows.size(); ++i) values[i] = values[static_cast<size_t>(rows[i])];
  values.resize(rows.size());
  set_room(values, room);
}

/// Rows from rows[i] on that follow each other.
int64_t run_length(std::span<const int32_t> rows, size_t i, int64_t most) {
  int64_t run = 1;
  while (run < most && i + static_cast<size_t>(run) < rows.size() &&
         rows[i + static_cast<size_t>(run)] == rows[i] + run) {
    ++run;
  }
  return run;
}

}  // namespace

void KvStore::keep(int layer, int head, std::span<const int32_t> rows) {
  Head& h = at(layer, head);
  int64_t previous = -1;
  for (const int32_t row : rows) {
    LH_ASSERT(row > previous && row < h.length);
    previous = row;
  }
  size_t first = 0;  // rows before this one stay where they are
  while (first < rows.size() && rows[first] == static_cast<int64_t>(first)) ++first;
  if (static_cast<int64_t>(first) == h.length) return;

  for (size_t page = first / static_cast<size_t>(layout_.page_rows); page < h.pages.size();
       ++page) {
    load(h, page);
    drop_slot(h, page);
  }
  move_rows(h, rows, first);
  const int64_t pages = layout_.pages_for(std::ssize(rows));
  const int64_t room = layout_.room_for(std::ssize(rows));
  for (Column& column : h.columns) keep_values(column.values, rows, first, room);
  if (!h.tokens.empty()) {
    keep_values(h.tokens, rows, first, room);
  } else if (first < rows.size()) {
    h.tokens.assign(rows.begin(), rows.end());
  }
  h.length = static_cast<int64_t>(rows.size());
  release_from(h, static_cast<size_t>(pages));
}

/// Sources lie behind their destinations and ascend, so nothing is overwritten before it moved.
void KvStore::move_rows(Head& h, std::span<const int32_t> rows, size_t first) {
  const int64_t per_page = layout_.page_rows;
  for (size_t i = first; i < rows.size();) {
    const int64_t to = static_cast<int64_t>(i), from = rows[i];
    const int64_t room = per_page - std::max(to % per_page, from % per_page);
    const int64_t run = run_length(rows, i, room);
    const size_t to_page = static_cast<size_t>(to / per_page);
    const bool last = i + static_cast<size_t>(run) == rows.size();
    if (to % per_page == 0 && from % per_page == 0 && (run == per_page || last)) {
      std::swap(h.pages[to_page], h.pages[static_cast<size_t>(from / per_page)]);
    } else {
      make_writable(h, to_page);
      const size_t bytes = static_cast<size_t>(run) * layout_.row_bytes();
      std::memmove(key_at(h, to), key_at(h, from), bytes);
      std::memmove(value_at(h, to), value_at(h, from), bytes);
    }
    i += static_cast<size_t>(run);
  }
}

void KvStore::truncate(int layer, int head, int64_t length) {
  Head& h = at(layer, head);
  LH_ASSERT(length >= 0);
  if (length >= h.length) return;
  h.appended = token_of(layer, head, length);
  h.length = length;
  const int64_t pages = layout_.pages_for(length), room = layout_.room_for(length);
  if (!h.tokens.empty()) h.tokens.resize(h.appended == length ? 0 : static_cast<size_t>(length));
  set_room(h.tokens, h.tokens.empty() ? 0 : room);
  for (Column& column : h.columns) {
    column.values.resize(static_cast<size_t>(length));
    set_room(column.values, room);
  }
  release_from(h, static_cast<size_t>(pages));
}

void KvStore::truncate(int64_t length) {
  for (int layer = 0; layer < layout_.layers(); ++layer) {
    for (int h = 0; h < layout_.heads[static_cast<size_t>(layer)]; ++h) truncate(layer, h, length);
  }
}

}  // namespace longhaul
