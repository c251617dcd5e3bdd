// KvStore in device memory: page tables for kernels, and evictions whose row numbers a device has
// selected and the host does not read.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/nth.h"
#include "base/on_device.h"
#include "kv/keep_batch.h"
#include "kv/kv_store.h"
#include "ops/attention/row_moves.h"

namespace longhaul {
namespace {

/// New pages that no list owns yet. The destructor releases the pages that have not been moved to a
/// list.
class FreshPages {
 public:
  explicit FreshPages(PageMemory& memory) : memory_(memory) {}
  ~FreshPages() { memory_.release_all(pages_); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  void acquire(int64_t count) {
    pages_.reserve(pages_.size() + static_cast<size_t>(count));
    memory_.acquire_all(count, pages_);
  }
  std::span<std::byte* const> all() const { return pages_; }
  std::vector<std::byte*> take() { return std::exchange(pages_, {}); }

 private:
  PageMemory& memory_;
  std::vector<std::byte*> pages_;
};

const std::byte** entry(const DeviceBuffer& table, size_t at) {
  return static_cast<const std::byte**>(table.data()) + at;
}

size_t address_bytes(size_t count) { return count * sizeof(std::byte*); }

}  // namespace

/// Uploads the missing entries of a layer's PageTable in one operation.
void KvStore::list_pages(int layer) const {
  const int lists = layout_.lists(layer);
  size_t most = 0;
  bool listed = true;
  for (int list = 0; list < lists; ++list) {
    const Head& h = at(layer, list);
    most = std::max(most, h.pages.size());
    listed = listed && h.listed >= h.pages.size();
  }
  if (listed) return;
  PageTable& table = nth(tables_, layer);
  if (most > table.room) {
    table.room = 2 * most;
    table.memory.resize(queue_.shared_device(),
                        address_bytes(static_cast<size_t>(lists) * table.room));
    for (int list = 0; list < lists; ++list) at(layer, list).listed = 0;
  }
  std::vector<DeviceBytes> pieces;
  for (int list = 0; list < lists; ++list) {
    const Head& h = at(layer, list);
    if (h.listed >= h.pages.size()) continue;
    pieces.push_back({h.pages.data() + h.listed,
                      entry(table.memory, static_cast<size_t>(list) * table.room + h.listed),
                      address_bytes(h.pages.size() - h.listed)});
    h.listed = h.pages.size();
  }
  queue_.device().upload_all(pieces);
}

PagedRows KvStore::rows(int layer, int head) const { return rows(layer, head, at(layer, head)); }

PagedRows KvStore::rows(int layer, int head, const Head& h) const {
  PagedRows rows{h.pages.data(), layout_.page_rows, layout_.dim_of(layer), layout_.type};
  rows.values_in_keys = layout_.values_in_keys;
  if (queue_.on_host()) return rows;
  if (h.listed < h.pages.size() || nth(tables_, layer).room == 0) list_pages(layer);
  rows.place = queue_.place();
  const PageTable& table = nth(tables_, layer);
  rows.listed = entry(table.memory, static_cast<size_t>(head) * table.room);
  return rows;
}

/// Moves the kept rows of the lists with their columns and token numbers: within their pages if
/// only few rows are evicted, and to new pages otherwise. Returns false, without changes, if the
/// device does not support this.
bool KvStore::keep_there(int layer, std::span<const Chosen> lists) {
  thread_local KeepBatch within;  // static, so that its buffers are reused
  within.clear();
  if (within.add(*this, layer, lists)) return within.run(queue_);
  FreshPages fresh(memory(at(layer, 0)));
  size_t most = 0;
  for (const Chosen& each : lists) {
    LH_ASSERT(each.rows.size() < at(layer, each.head).length);
    const int64_t pages = layout_.pages_for(each.rows.size());
    most = std::max(most, static_cast<size_t>(pages));
    fresh.acquire(pages);
    tell_tokens(at(layer, each.head));
  }
  PageTable& to = other_table_;
  to.room = std::max(to.room, 2 * most);
  to.memory.resize(queue_.shared_device(),
                   address_bytes(static_cast<size_t>(layout_.lists(layer)) * to.room));
  std::vector<DeviceBytes> pieces;
  std::vector<KeptRows> moves;
  std::vector<KeptNumbers> numbers;
  std::vector<ChosenTokens> tokens;
  size_t first = 0;
  for (const Chosen& each : lists) {
    Head& h = at(layer, each.head);
    const auto pages = static_cast<size_t>(layout_.pages_for(each.rows.size()));
    PagedRows there = rows(layer, each.head);
    const PagedRows from = there;
    there.pages = fresh.all().data() + first;
    there.listed = entry(to.memory, static_cast<size_t>(each.head) * to.room);
    pieces.push_back(
        {there.pages, const_cast<std::byte const**>(there.listed), address_bytes(pages)});
    first += pages;
    moves.push_back({from, each.rows, there});
    for (Column& column : h.columns) {
      const View<float> values = column.values.view();
      numbers.push_back({each.rows, values.address(), values.address(), values.size(), 0});
    }
    ChosenTokens& kept = tokens.emplace_back(h.chosen);
    const View<int32_t> told = h.chosen.view(queue_);
    const int64_t behind = told.empty() ? 0 : h.appended - h.length;
    const size_t bytes = static_cast<size_t>(each.rows.size()) * sizeof(int32_t);
    if (kept.memory == nullptr || h.chosen.memory.use_count() > 2 || kept.bytes() < bytes) {
      kept.memory = std::make_shared<DeviceBuffer>();
      kept.memory->resize(queue_.shared_device(), bytes);
    }
    kept.count = each.rows.size();
    numbers.push_back({each.rows, told.address(), kept.memory->data(), told.size(), behind});
  }
  queue_.device().upload_all(pieces);
  if (!on_device(kKeepRows, queue_, moves, numbers)) return false;
  for (int list = 0; list < layout_.lists(layer); ++list) at(layer, list).listed = 0;
  std::swap(nth(tables_, layer), to);
  const std::vector<std::byte*> pages = fresh.take();
  auto next = pages.begin();
  for (size_t i = 0; i < lists.size(); ++i) {
    Head& h = at(layer, lists[i].head);
    const int64_t length = lists[i].rows.size();
    release_from(h, 0);
    const auto end = next + layout_.pages_for(length);
    h.pages.assign(next, end);
    next = end;
    h.own_page = Head::kNoPage;
    h.alone = true;
    h.listed = h.pages.size();
    h.chosen = std::move(tokens[i]);
    h.length = length;
    for (Column& column : h.columns) column.values.shrunk(length);
  }
  return true;
}

/// Uploads the token numbers in h.tokens to h.chosen.
void KvStore::tell_tokens(const Head& h) const {
  if (h.tokens.empty()) return;
  forget_bytes();
  const size_t bytes = h.tokens.size() * sizeof(int32_t);
  h.chosen.memory = std::make_shared<DeviceBuffer>();
  h.chosen.memory->resize(queue_.shared_device(), bytes);
  h.chosen.count = std::ssize(h.tokens);
  queue_.device().upload(h.tokens.data(), h.chosen.memory->data(), bytes);
  h.tokens = {};
}

/// Downloads the token numbers in h.chosen to h.tokens, if there are any. Waits for the device in
/// this case.
void KvStore::ask_tokens(const Head& h) const {
  if (h.chosen.count == 0) return;
  forget_bytes();
  h.tokens.resize(static_cast<size_t>(h.length));
  const auto chosen = static_cast<size_t>(std::min(h.chosen.count, h.length));
  queue_.device().download(h.chosen.memory->data(), h.tokens.data(), chosen * sizeof(int32_t));
  std::iota(h.tokens.begin() + static_cast<std::ptrdiff_t>(chosen), h.tokens.end(),
            static_cast<int32_t>(h.appended - h.length + static_cast<int64_t>(chosen)));
  h.chosen = {};
}

RowTokens KvStore::tokens(int layer, int head) const {
  const Head& h = at(layer, head);
  if (queue_.on_host()) return {std::span<const int32_t>(h.tokens), 0};
  tell_tokens(h);
  const View<const int32_t> told = h.chosen.view(queue_);
  return {told.part(0, std::min(told.size(), h.length)), told.empty() ? 0 : h.appended - h.length};
}

/// Copies the kept rows to new pages through host memory.
void KvStore::gather_by_host(Head& h, std::span<const int32_t> rows) {
  const RowForm& how = form(h);
  const size_t key = how.key_bytes(), value = how.value_bytes(), values = how.values_at();
  const auto per_page = static_cast<size_t>(layout_.page_rows);
  FreshPages fresh(memory(h));
  HostStage on(queue_);
  std::vector<std::byte> gathered(how.page_bytes());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    const std::byte* const page = on.bytes(h.pages[row / per_page], how.page_bytes());
    const size_t old = row % per_page, now = i % per_page;
    std::memcpy(gathered.data() + now * key, page + old * key, key);
    std::memcpy(gathered.data() + values + now * value, page + values + old * value, value);
    if (i + 1 < rows.size() && (i + 1) % per_page != 0) continue;
    fresh.acquire(1);
    queue_.device().upload(gathered.data(), fresh.all().back(), how.page_bytes());
  }
  release_from(h, 0);
  h.pages = fresh.take();
}

}  // namespace longhaul
