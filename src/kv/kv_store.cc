#include "kv/kv_store.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/host_stage.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "kv/page_pool.h"
#include "kv/shared_pages.h"
#include "ops/attention/row_moves.h"
#include "ops/attention/stored_key.h"

namespace longhaul {
namespace {

/// Least number of floats per thread.
constexpr int64_t kValuesPerThread = 32 * 1024;

}  // namespace

KvStore::KvStore(const KvLayout& layout) : KvStore(layout, spaces_of(layout, nullptr), {}) {}

KvStore::KvStore(const KvLayout& layout, const Queue& queue)
    : KvStore(layout, spaces_of(layout, &queue), queue) {}

KvStore::KvStore(const KvLayout& layout, std::shared_ptr<PageMemory> memory, const Queue& queue)
    : KvStore(layout,
              {{layout.largest_form(), std::move(memory),
                std::make_shared<PageFile>(layout.page_bytes())}},
              queue) {}

/// Returns one Space per row format. The pages come from own pools, or from the shared pools of the
/// queue if `shared_on` is not null.
std::vector<KvStore::Space> KvStore::spaces_of(const KvLayout& layout, const Queue* shared_on) {
  std::vector<Space> spaces;
  for (int layer = 0; layer <= layout.layers(); ++layer) {  // also covers a store without layers
    const bool last = layer == layout.layers();
    const RowForm form = last ? layout.largest_form() : layout.form_of(layer);
    if (last && !spaces.empty()) break;
    if (std::ranges::any_of(spaces, [&](const Space& s) { return s.form == form; })) continue;
    std::shared_ptr<PageMemory> memory;
    if (shared_on == nullptr) {
      memory = std::make_shared<PagePool>(form.page_bytes());
    } else {
      memory = shared_pages(form, *shared_on);
    }
    spaces.push_back({form, std::move(memory), std::make_shared<PageFile>(form.page_bytes())});
  }
  return spaces;
}

KvStore::KvStore(KvLayout layout, std::vector<Space> spaces, Queue queue)
    : layout_(std::move(layout)), spaces_(std::move(spaces)), queue_(std::move(queue)) {
  for (const Space& each : spaces_) {
    LH_ASSERT(each.memory->place() == queue_.place());
    LH_ASSERT(each.memory->page_bytes() >= each.form.page_bytes());
  }
  LH_ASSERT(is_kv_type(layout_.type.k) && is_kv_type(layout_.type.v));
  LH_ASSERT(layout_.head_dim > 0 && layout_.page_rows > 0);
  LH_ASSERT(layout_.head_dims.empty() || layout_.head_dims.size() == layout_.heads.size());
  LH_ASSERT(!layout_.values_in_keys || layout_.type.k == layout_.type.v);
  size_t first = 0;
  for (const int heads : layout_.heads) {
    LH_ASSERT(heads >= 0);
    first_head_.push_back(first);
    first += static_cast<size_t>(heads);
  }
  heads_.resize(first);
  for (int layer = 0; layer < layout_.layers(); ++layer) {
    const RowForm form = layout_.form_of(layer);
    LH_ASSERT(form.type.holds(form.head_dim));
    const auto space = std::ranges::find(spaces_, form, &Space::form);
    LH_ASSERT(space != spaces_.end());
    for (int head = 0; head < lists(layer); ++head) {
      at(layer, head).space = static_cast<size_t>(space - spaces_.begin());
    }
  }
  tables_.resize(layout_.heads.size());
}

KvStore::~KvStore() { release_all(); }

KvStore::KvStore(KvStore&& other) noexcept = default;

KvStore& KvStore::operator=(KvStore&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(spaces_, other.spaces_);
  std::swap(queue_, other.queue_);
  std::swap(first_head_, other.first_head_);
  std::swap(heads_, other.heads_);
  std::swap(tables_, other.tables_);
  std::swap(other_table_, other.other_table_);
  std::swap(known_bytes_, other.known_bytes_);
  return *this;
}

KvStore KvStore::fork_as(const KvLayout& layout) const {
  LH_ASSERT(layout.same_rows(layout_));
  KvStore copy(layout, spaces_, queue_);
  copy.heads_ = heads_;
  for (Head& h : copy.heads_) {
    h.changed(0);  // the copy has no page tables yet
    h.alone = h.pages.empty();
  }
  for (const Head& h : heads_) {
    h.own_page = Head::kNoPage;
    h.alone = h.pages.empty();
    memory(h).share_all(h.pages);
    for (const uint32_t slot : h.slots) {
      if (slot != kNoSlot) file(h).share(slot);
    }
  }
  return copy;
}

size_t KvStore::index(int layer, int head) const {
  LH_ASSERT(layer >= 0 && layer < layout_.layers() && head >= 0 &&
            head < layout_.heads[static_cast<size_t>(layer)]);
  return first_head_[static_cast<size_t>(layer)] + static_cast<size_t>(head);
}

void KvStore::prefetch(int layer) const {
  constexpr size_t kLine = 64;
  if (lists(layer) == 0) return;
  const auto* const first =
      reinterpret_cast<const std::byte*>(&heads_[first_head_[static_cast<size_t>(layer)]]);
  const size_t bytes = static_cast<size_t>(lists(layer)) * sizeof(Head);
  for (size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(first + at);
}

int64_t KvStore::longest() const {
  int64_t longest = 0;
  for (const Head& h : heads_) longest = std::max(longest, h.length);
  return longest;
}

std::byte* KvStore::key_at(const Head& h, int64_t row) const {
  return h.pages[static_cast<size_t>(row / layout_.page_rows)] +
         static_cast<size_t>(row % layout_.page_rows) * form(h).key_bytes();
}

std::byte* KvStore::value_at(const Head& h, int64_t row) const {
  if (layout_.values_in_keys) return key_at(h, row);
  return h.pages[static_cast<size_t>(row / layout_.page_rows)] + form(h).values_at() +
         static_cast<size_t>(row % layout_.page_rows) * form(h).value_bytes();
}

void KvStore::append(int layer, int64_t rows, View<const float> k, View<const float> v) {
  const int heads = layout_.heads[static_cast<size_t>(layer)];
  if (rows == 0 || heads == 0) return;
  const int64_t dim = layout_.dim_of(layer), stride = k.size() / rows, kv_heads = stride / dim;
  LH_ASSERT(k.size() == rows * kv_heads * dim && v.size() == k.size());
  LH_ASSERT(kv_heads > 0 && heads % kv_heads == 0);
  reserve_layer(layer, rows);
  if (!queue_.on_host()) {
    if (!append_on_device(layer, {.k = k, .v = v, .rows = rows})) upload_rows(layer, rows, k, v);
    for (int h = 0; h < heads; ++h) add_rows(at(layer, h), rows);
    return;
  }
  const float *const keys = host(k).data(), *const values = host(v).data();
  const int64_t per_kv_head = heads / kv_heads;
  const int64_t grain = std::max<int64_t>(1, kValuesPerThread / (heads * dim));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int h = 0; h < heads; ++h) {
      const Head& to = at(layer, h);
      const int64_t from = begin * stride + h / per_kv_head * dim;
      write_rows(to, to.length + begin, end - begin, keys + from, values + from, stride);
    }
  });
  for (int h = 0; h < heads; ++h) add_rows(at(layer, h), rows);
}

void KvStore::append(int layer, int head, int64_t rows, View<const float> k, View<const float> v,
                     int64_t stride) {
  Head& h = at(layer, head);
  if (rows == 0) return;
  const int64_t least = (rows - 1) * stride + form(h).head_dim;
  LH_ASSERT(stride >= 0 && k.size() >= least && v.size() >= least);
  reserve_rows(h, rows);
  HostStage on(queue_);
  const float *const keys = host(on(k)).data(), *const values = host(on(v)).data();
  if (queue_.on_host()) {
    write_rows(h, h.length, rows, keys, values, stride);
  } else {
    upload_rows(h, h.length, rows, keys, values, stride);
  }
  add_rows(h, rows);
}

bool KvStore::append_rotated(int layer, const NewRows& added, const Rotations& rotations,
                             int64_t position) {
  const int heads = layout_.heads[static_cast<size_t>(layer)];
  const int64_t rows = added.rows, size = rows * added.kv_heads * layout_.dim_of(layer);
  if (queue_.on_host() || rows == 0 || heads == 0) return false;
  reserve_layer(layer, rows);
  if (!append_on_device(layer, {.k = added.k.part(0, size),
                                .v = added.v.part(0, size),
                                .rows = rows,
                                .rotations = &rotations,
                                .position = position,
                                .q = added.q,
                                .rotated_q = added.rotated_q})) {
    return false;
  }
  for (int h = 0; h < heads; ++h) add_rows(at(layer, h), rows);
  return true;
}

/// Appends the rows to every list of the layer with a device operation. Returns false if the device
/// does not support it.
bool KvStore::append_on_device(int layer, const DeviceAppend& rows) {
  DeviceAppend added = rows;
  added.kv_heads = static_cast<int>(added.k.size() / added.rows / layout_.dim_of(layer));
  std::vector<PagedRows> lists;
  std::vector<int64_t> first;
  for (int h = 0; h < layout_.lists(layer); ++h) {
    lists.push_back(this->rows(layer, h));
    first.push_back(length(layer, h));
  }
  added.lists = lists;
  added.first = first;
  return on_device(kAppendRows, queue_, {&added, 1});
}

/// Appends the rows to every list of the layer through host memory.
void KvStore::upload_rows(int layer, int64_t rows, View<const float> k, View<const float> v) {
  const int64_t dim = layout_.dim_of(layer), stride = k.size() / rows, kv_heads = stride / dim;
  const int heads = layout_.lists(layer);
  LH_ASSERT(kv_heads > 0 && heads % kv_heads == 0);
  const int64_t per_kv_head = heads / kv_heads;
  HostStage on(queue_);
  const float *const keys = host(on(k)).data(), *const values = host(on(v)).data();
  for (int h = 0; h < heads; ++h) {
    const int64_t from = h / per_kv_head * dim;
    upload_rows(at(layer, h), length(layer, h), rows, keys + from, values + from, stride);
  }
}

void KvStore::upload_rows(const Head& h, int64_t first, int64_t rows, const float* k,
                          const float* v, int64_t stride) const {
  const int dim = form(h).head_dim;
  std::vector<std::byte> bytes(form(h).page_bytes());
  for (int64_t r = 0, run = 0; r < rows; r += run) {
    run = std::min<int64_t>(rows - r, layout_.page_rows - (first + r) % layout_.page_rows);
    const auto send = [&](DType type, bool key, const float* x, std::byte* to) {
      const size_t row = bytes_of(type, dim);
      for (int64_t i = 0; i < run; ++i) {
        write_row(type, key, x + (r + i) * stride, dim,
                  bytes.data() + static_cast<size_t>(i) * row);
      }
      queue_.device().upload(bytes.data(), to, static_cast<size_t>(run) * row);
    };
    send(layout_.type.k, true, k, key_at(h, first + r));
    if (!layout_.values_in_keys) send(layout_.type.v, false, v, value_at(h, first + r));
  }
}

/// Calls reserve_rows() for all lists of the layer. A device copies all shared pages in one
/// operation.
void KvStore::reserve_layer(int layer, int64_t rows) {
  const auto has_room = [&](const Head& h) { return has_room_for(h, rows); };
  if (std::ranges::all_of(heads_of(layer), has_room)) return;
  std::vector<DeviceBytes> copies;
  const auto send = [&] {
    if (!copies.empty()) queue_.device().copy_all(copies);
  };
  try {
    for (int list = 0; list < lists(layer); ++list) {
      Head& h = at(layer, list);
      if (!has_room_for(h, rows)) reserve_rows(h, rows, &copies);
    }
  } catch (...) {
    send();  // copies what was collected, before the error is reported
    throw;
  }
  send();
}

/// Reserves pages for `rows` more rows, so that writing the rows cannot fail. If a shared page on a
/// device must be copied, the copy is made at once, or added to `copies` if that is not null.
void KvStore::reserve_rows(Head& h, int64_t rows, std::vector<DeviceBytes>* copies) {
  LH_ASSERT(rows >= 0 && h.appended + rows <= kMostTokens);
  const int64_t per_page = layout_.page_rows;
  const bool on_device = !queue_.on_host();
  for (size_t page = static_cast<size_t>(h.length / per_page); page < h.pages.size(); ++page) {
    if (on_device && (page == h.own_page || (h.alone && h.slots.empty()))) continue;
    make_writable(h, page, copies);
    h.own_page = page;
  }
  const size_t pages = static_cast<size_t>(layout_.pages_for(h.length + rows));
  if (pages > h.pages.capacity()) h.pages.reserve(std::max(pages, 2 * h.pages.size()));
  for (; h.pages.size() < pages; h.own_page = h.pages.size() - 1) {
    h.pages.push_back(memory(h).acquire());
    forget_bytes();
  }
}

void KvStore::write_rows(const Head& h, int64_t first, int64_t rows, const float* k, const float* v,
                         int64_t stride) const {
  const int dim = form(h).head_dim;
  for (int64_t r = 0; r < rows; ++r) {
    write_row(layout_.type.k, true, k + r * stride, dim, key_at(h, first + r));
    if (layout_.values_in_keys) continue;
    write_row(layout_.type.v, false, v + r * stride, dim, value_at(h, first + r));
  }
}

/// Updates the length, the token numbers and the columns of a list after rows have been written.
void KvStore::add_rows(Head& h, int64_t rows) {
  // True if row i is not token i, and h.tokens is valid.
  const bool numbered = h.appended != h.length && h.chosen.count == 0;
  const size_t before = numbered ? h.tokens.size() : 0;
  h.length += rows;
  h.appended += rows;
  if (!numbered && h.columns.empty()) return;
  const int64_t room = layout_.room_for(h.length);
  if (numbered) {
    if (std::cmp_not_equal(h.tokens.capacity(), room)) forget_bytes();
    set_room(h.tokens, room);
    h.tokens.resize(static_cast<size_t>(h.length));
    // If row i was token i so far, the token numbers of the existing rows are added too.
    const auto kept = static_cast<size_t>(h.length - rows);
    if (before < kept) std::iota(h.tokens.begin(), h.tokens.end(), 0);
    std::iota(h.tokens.begin() + static_cast<std::ptrdiff_t>(kept), h.tokens.end(),
              static_cast<int32_t>(h.appended - rows));
  }
  for (Column& column : h.columns) {
    const size_t bytes = column.values.bytes();
    column.values.resize(h.length, room);
    if (column.values.bytes() != bytes) forget_bytes();
  }
}

void KvStore::make_writable(Head& h, size_t page, std::vector<DeviceBytes>* copies) {
  load(h, page);
  drop_slot(h, page);
  if (!memory(h).shared(h.pages[page])) return;
  std::byte* copy = memory(h).acquire();
  const size_t bytes = form(h).page_bytes();
  if (queue_.on_host()) {
    std::memcpy(copy, h.pages[page], bytes);
  } else if (copies == nullptr) {
    queue_.device().copy(h.pages[page], copy, bytes);
  } else {
    copies->push_back({h.pages[page], copy, bytes});
  }
  h.changed(page);
  memory(h).release(std::exchange(h.pages[page], copy));
}

void KvStore::release_from(Head& h, size_t page) {
  h.changed(page);
  forget_bytes();
  for (; h.slots.size() > page; h.slots.pop_back()) {
    if (h.slots.back() != kNoSlot) file(h).release(h.slots.back());
  }
  if (h.pages.size() <= page) return;
  memory(h).release_all(std::span(h.pages).subspan(page));
  h.pages.resize(page);
}

void KvStore::release_all() {
  for (Head& h : heads_) release_from(h, 0);
}

void KvStore::clear() {
  release_all();
  forget_bytes();
  for (Head& h : heads_) h = Head{.space = h.space};
}

void KvStore::read(int layer, int head, int64_t row, float* k, float* v) const {
  const Head& h = at(layer, head);
  LH_ASSERT(row >= 0 && row < h.length);
  const size_t page = static_cast<size_t>(row / layout_.page_rows);
  const auto in_page = static_cast<size_t>(row % layout_.page_rows);
  const RowForm& how = form(h);
  std::vector<std::byte> spilled(h.pages[page] == nullptr ? how.page_bytes() : 0);
  if (!spilled.empty()) file(h).read(h.slots[page], spilled.data());
  Queue queue = queue_;
  HostStage on(queue);
  const std::byte* rows = spilled.empty() ? h.pages[page] : spilled.data();
  if (!queue_.on_host()) rows = on.bytes(rows, how.page_bytes());
  const int64_t dim = how.head_dim;
  const std::byte* const key = rows + in_page * how.key_bytes();
  read_row(layout_.type.k, true, key, dim, k);
  if (how.values_in_keys) return read_row(layout_.type.v, false, key, dim, v);
  const std::byte* const value = rows + how.values_at() + in_page * how.value_bytes();
  read_row(layout_.type.v, false, value, dim, v);
}

int64_t KvStore::token_of(int layer, int head, int64_t row) const {
  const Head& h = at(layer, head);
  LH_ASSERT(row >= 0 && row < h.length);
  if (h.chosen.count > 0 && row >= h.chosen.count) return h.appended - h.length + row;
  ask_tokens(h);
  return h.tokens.empty() ? row : h.tokens[static_cast<size_t>(row)];
}

View<float> KvStore::column(int layer, int head, std::string_view name) {
  Head& h = at(layer, head);
  const auto same = [&](const Column& column) { return column.name == name; };
  auto column = std::find_if(h.columns.begin(), h.columns.end(), same);
  if (column == h.columns.end()) {
    std::vector<float> zeros(static_cast<size_t>(h.length));
    h.columns.push_back({std::string(name), {queue_, std::move(zeros)}});
    forget_bytes();
    column = std::prev(h.columns.end());
  }
  return column->values.view();
}

size_t KvStore::page_bytes() const {
  size_t bytes = 0;
  for (const Head& h : heads_) {
    const auto spilled = h.slots.empty() ? 0 : std::count(h.pages.begin(), h.pages.end(), nullptr);
    bytes += (h.pages.size() - static_cast<size_t>(spilled)) * form(h).page_bytes();
  }
  return bytes;
}

size_t KvStore::bytes() const {
  if (known_bytes_ == kUnknown) known_bytes_ = count_bytes();
  return known_bytes_;
}

size_t KvStore::count_bytes() const {
  size_t bytes = page_bytes();
  for (const Head& h : heads_) {
    bytes += h.tokens.capacity() * sizeof(int32_t) + h.chosen.bytes();
    for (const Column& column : h.columns) bytes += column.values.bytes();
  }
  return bytes;
}

void KvStore::unshare() {
  for (Head& h : heads_) {
    for (size_t page = 0; page < h.pages.size(); ++page) {
      if (h.pages[page] != nullptr && memory(h).shared(h.pages[page])) make_writable(h, page);
    }
    h.alone = true;
  }
}

size_t KvStore::own_bytes() const {
  size_t shared = 0;
  for (const Head& h : heads_) {
    const auto pages = std::ranges::count_if(
        h.pages, [&](const std::byte* page) { return page != nullptr && memory(h).shared(page); });
    shared += static_cast<size_t>(pages) * form(h).page_bytes();
  }
  return bytes() - shared;
}

size_t KvStore::live_bytes() const {
  size_t bytes = 0;
  for (const Head& h : heads_) bytes += static_cast<size_t>(h.length) * form(h).row_bytes();
  return bytes;
}

int64_t KvStore::live_rows() const {
  int64_t rows = 0;
  for (const Head& h : heads_) rows += h.length;
  return rows;
}

}  // namespace longhaul
