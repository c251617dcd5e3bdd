// KvStore in a session file. The file contains the layout, and for each list its rows without the
// unused ends of pages. It also contains the range of offloaded rows, so that these rows are
// offloaded again after they have been restored. Counts are compared with the remaining size of the
// file before memory is allocated.

#include <algorithm>

#include "base/byte_stream.h"
#include "base/error.h"
#include "kv/kv_store.h"

namespace longhaul {
namespace {

constexpr uint32_t kMostColumns = 64;

[[noreturn]] void damaged(const ByteReader& in, const char* what) {
  user_error("{}: damaged: KV store with {}", in.path().string(), what);
}

void check_layout(ByteReader& in, const KvLayout& layout) {
  const std::string type = in.text();
  if (type != name_of(layout.type)) {
    user_error("{}: keys and values are stored as {}, this session uses {}", in.path().string(),
               kv_type_from_name(type) ? type : "an unknown type", name_of(layout.type));
  }
  const int32_t head_dim = in.number<int32_t>();
  if (head_dim != layout.head_dim) {
    user_error("{}: head dimension {}, this session's is {}", in.path().string(), head_dim,
               layout.head_dim);
  }
  const std::vector<int32_t> heads = in.array<int32_t>();
  if (heads.size() != layout.heads.size()) {
    user_error("{}: {} layers, this session has {}", in.path().string(), heads.size(),
               layout.heads.size());
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] != layout.heads[i]) {
      user_error("{}: layer {} keeps {} heads, this session's keeps {}", in.path().string(), i,
                 heads[i], layout.heads[i]);
    }
  }
}

/// Half of the range of token numbers, so that more tokens can be appended to a restored store.
constexpr int64_t kMostAppended = int64_t{1} << 30;

void check_tokens(const ByteReader& in, std::span<const int32_t> tokens, int64_t length,
                  int64_t appended) {
  if (tokens.empty()) return;
  if (static_cast<int64_t>(tokens.size()) != length) damaged(in, "a token list of wrong length");
  int64_t previous = -1;
  for (const int32_t token : tokens) {
    if (token <= previous || token >= appended) damaged(in, "token numbers out of order");
    previous = token;
  }
}

}  // namespace

bool KvStore::is_plain() const {
  return std::ranges::all_of(heads_, [](const Head& h) {
    const bool resident = std::ranges::none_of(h.pages, [](const std::byte* p) { return !p; });
    return h.length == h.appended && h.columns.empty() && resident;
  });
}

void KvStore::save(ByteWriter& out, int64_t first) const {
  LH_ASSERT(first == 0 || is_plain());
  out.text(name_of(layout_.type));
  out.number<int32_t>(layout_.head_dim);
  out.array(std::span<const int32_t>(layout_.heads));
  for (const Head& h : heads_) save_head(h, first, out);
}

/// Calls visit() for the keys of all pages and then for the values of all pages, so that the
/// contents of a file do not depend on the page size.
template <class Visit>
void KvStore::each_stretch(const Head& h, int64_t first, int64_t length, bool loading,
                           Visit&& visit) const {
  const RowForm& how = form(h);
  std::vector<std::byte> spilled(how.page_bytes());
  for (const bool values : {false, true}) {
    const size_t begin = values ? how.values_at() : 0;
    const size_t row_bytes = values ? how.value_bytes() : how.key_bytes();
    for (int64_t row = first, count = 0; row < length; row += count) {
      const int64_t within = row % layout_.page_rows;
      count = std::min<int64_t>(layout_.page_rows - within, length - row);
      const size_t index = static_cast<size_t>(row / layout_.page_rows);
      std::byte* page = h.pages[index];
      if (page == nullptr) file(h).read(h.slots[index], page = spilled.data());
      const size_t bytes = static_cast<size_t>(count) * row_bytes;
      const size_t offset = begin + static_cast<size_t>(within) * row_bytes;
      if (queue_.on_host()) {
        visit(page + offset, bytes);
      } else if (loading) {
        visit(spilled.data(), bytes);
        queue_.device().upload(spilled.data(), page + offset, bytes);
      } else {
        queue_.device().download(page + offset, spilled.data(), bytes);
        visit(spilled.data(), bytes);
      }
    }
  }
}

/// Returns the range of rows from the first to the last offloaded page.
std::pair<int64_t, int64_t> KvStore::spilled_rows(const Head& h) const {
  const auto is_spilled = [](const std::byte* page) { return page == nullptr; };
  const auto first = std::find_if(h.pages.begin(), h.pages.end(), is_spilled);
  const auto last = std::find_if(h.pages.rbegin(), h.pages.rend(), is_spilled);
  if (first == h.pages.end()) return {0, 0};
  return {(first - h.pages.begin()) * layout_.page_rows,
          (h.pages.rend() - last) * layout_.page_rows};
}

void KvStore::save_head(const Head& h, int64_t first, ByteWriter& out) const {
  ask_tokens(h);
  out.number(h.length);
  out.number(h.appended);
  out.array(std::span<const int32_t>(h.tokens));
  out.number(static_cast<uint32_t>(h.columns.size()));
  for (const Column& column : h.columns) {
    out.text(column.name);
    out.array(std::span<const float>(column.values.read()));
  }
  const auto [spilled_begin, spilled_end] = spilled_rows(h);
  out.number(spilled_begin);
  out.number(spilled_end);
  each_stretch(h, first, h.length, false,
               [&](std::byte* rows, size_t bytes) { out.bytes(rows, bytes); });
}

void KvStore::restore(ByteReader& in, int64_t first) {
  check_layout(in, layout_);
  LH_ASSERT(first == 0 || is_plain());
  KvStore fresh = first > 0 ? fork() : KvStore(layout_, spaces_, queue_);
  if (first > 0) fresh.truncate(first);
  for (int layer = 0; layer < layout_.layers(); ++layer) {
    for (int head = 0; head < layout_.heads[static_cast<size_t>(layer)]; ++head) {
      const auto [begin, end] = fresh.restore_head(fresh.at(layer, head), first, in);
      if (end > begin) fresh.spill(layer, head, begin, end);
    }
  }
  std::swap(heads_, fresh.heads_);
  forget_bytes();
}

/// Restores a list. Returns the range of its offloaded rows.
std::pair<int64_t, int64_t> KvStore::restore_head(Head& h, int64_t first, ByteReader& in) {
  const int64_t length = in.number<int64_t>();
  const int64_t appended = in.number<int64_t>();
  if (length < 0 || appended < length || appended > kMostAppended) {
    damaged(in, "an impossible length");
  }
  if (first > 0 && (h.length != first || length < first || appended != length)) {
    damaged(in, "rows that do not continue those of its parent");
  }
  h.tokens = in.array<int32_t>();
  check_tokens(in, h.tokens, length, appended);
  if (appended == length) h.tokens.clear();  // row i is token i
  const uint32_t columns = in.number<uint32_t>();
  if (columns > (first > 0 ? 0 : kMostColumns)) damaged(in, "too many columns");
  for (uint32_t i = 0; i < columns; ++i) {
    const std::string name = in.text();
    Column column{name, {queue_, in.array<float>()}};
    if (column.values.size() != length) {
      damaged(in, "a column of wrong length");
    }
    h.columns.push_back(std::move(column));
  }
  const int64_t spilled_begin = in.number<int64_t>();
  const int64_t spilled_end = in.number<int64_t>();
  if (spilled_begin < 0 || spilled_end < spilled_begin || spilled_end > length) {
    damaged(in, "impossible rows in the slower tier");
  }
  if (first > 0 && spilled_end > 0) damaged(in, "impossible rows in the slower tier");
  const int64_t added = length - first;
  if (static_cast<uint64_t>(added) > in.remaining() / form(h).row_bytes()) in.too_short();
  reserve_rows(h, added);
  each_stretch(h, first, length, true,
               [&](std::byte* rows, size_t bytes) { in.bytes(rows, bytes); });
  h.length = length;
  h.appended = appended;
  return {spilled_begin, spilled_end};
}

}  // namespace longhaul
