#include "kv/kv_store.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/host_stage.h"
#include "base/parallel.h"
#include "kv/page_pool.h"
#include "kv/shared_pages.h"
#include "ops/attention/stored_key.h"
#include "ops/core/device_ops.h"

namespace longhaul {
namespace {

/// Fewer values than this are not worth a second thread.
constexpr int64_t kValuesPerThread = 32 * 1024;

}  // namespace

KvStore::KvStore(const KvLayout& layout)
    : KvStore(layout, std::make_shared<PagePool>(layout.page_bytes())) {}

KvStore::KvStore(const KvLayout& layout, const Queue& queue)
    : KvStore(layout, shared_pages(layout, queue), queue) {}

KvStore::KvStore(const KvLayout& layout, std::shared_ptr<PageMemory> memory, const Queue& queue)
    : KvStore(layout, std::move(memory), std::make_shared<PageFile>(layout.page_bytes()), queue) {}

KvStore::KvStore(KvLayout layout, std::shared_ptr<PageMemory> memory,
                 std::shared_ptr<PageFile> file, Queue queue)
    : layout_(std::move(layout)),
      memory_(std::move(memory)),
      file_(std::move(file)),
      queue_(std::move(queue)) {
  LH_ASSERT(memory_->place() == queue_.place());
  LH_ASSERT(memory_->page_bytes() >= layout_.page_bytes());
  LH_ASSERT(is_kv_type(layout_.type.k) && is_kv_type(layout_.type.v));
  LH_ASSERT(layout_.head_dim > 0 && layout_.page_rows > 0 && layout_.type.holds(layout_.head_dim));
  size_t first = 0;
  for (const int heads : layout_.heads) {
    LH_ASSERT(heads >= 0);
    first_head_.push_back(first);
    first += static_cast<size_t>(heads);
  }
  heads_.resize(first);
  tables_.resize(layout_.heads.size());
}

KvStore::~KvStore() { release_all(); }

KvStore::KvStore(KvStore&& other) noexcept = default;

KvStore& KvStore::operator=(KvStore&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(memory_, other.memory_);
  std::swap(file_, other.file_);
  std::swap(queue_, other.queue_);
  std::swap(first_head_, other.first_head_);
  std::swap(heads_, other.heads_);
  std::swap(tables_, other.tables_);
  std::swap(other_table_, other.other_table_);
  return *this;
}

KvStore KvStore::fork_as(const KvLayout& layout) const {
  LH_ASSERT(layout.same_rows(layout_));
  KvStore copy(layout, memory_, file_, queue_);
  copy.heads_ = heads_;
  for (Head& h : copy.heads_) h.changed(0);  // its tables hold nothing yet
  for (const Head& h : heads_) {
    h.own_page = Head::kNoPage;
    for (std::byte* page : h.pages) {
      if (page != nullptr) memory_->share(page);
    }
    for (const uint32_t slot : h.slots) {
      if (slot != kNoSlot) file_->share(slot);
    }
  }
  return copy;
}

size_t KvStore::index(int layer, int head) const {
  LH_ASSERT(layer >= 0 && layer < layout_.layers() && head >= 0 &&
            head < layout_.heads[static_cast<size_t>(layer)]);
  return first_head_[static_cast<size_t>(layer)] + static_cast<size_t>(head);
}

int64_t KvStore::longest() const {
  int64_t longest = 0;
  for (const Head& h : heads_) longest = std::max(longest, h.length);
  return longest;
}

std::byte* KvStore::key_at(const Head& h, int64_t row) const {
  return h.pages[static_cast<size_t>(row / layout_.page_rows)] +
         static_cast<size_t>(row % layout_.page_rows) * layout_.key_bytes();
}

std::byte* KvStore::value_at(const Head& h, int64_t row) const {
  return h.pages[static_cast<size_t>(row / layout_.page_rows)] + layout_.values_at() +
         static_cast<size_t>(row % layout_.page_rows) * layout_.value_bytes();
}

void KvStore::append(int layer, int64_t rows, View<const float> k, View<const float> v) {
  const int heads = layout_.heads[static_cast<size_t>(layer)];
  if (rows == 0 || heads == 0) return;
  const int64_t stride = k.size() / rows, kv_heads = stride / layout_.head_dim;
  LH_ASSERT(k.size() == rows * kv_heads * layout_.head_dim && v.size() == k.size());
  LH_ASSERT(kv_heads > 0 && heads % kv_heads == 0);
  reserve_layer(layer, rows);
  if (!queue_.on_host()) {
    if (!append_on_device(layer, {.k = k, .v = v, .rows = rows})) upload_rows(layer, rows, k, v);
    for (int h = 0; h < heads; ++h) add_rows(at(layer, h), rows);
    return;
  }
  const float *const keys = host(k).data(), *const values = host(v).data();
  const int64_t per_kv_head = heads / kv_heads;
  const int64_t grain = std::max<int64_t>(1, kValuesPerThread / (heads * layout_.head_dim));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int h = 0; h < heads; ++h) {
      const Head& to = at(layer, h);
      const int64_t from = begin * stride + h / per_kv_head * layout_.head_dim;
      write_rows(to, to.length + begin, end - begin, keys + from, values + from, stride);
    }
  });
  for (int h = 0; h < heads; ++h) add_rows(at(layer, h), rows);
}

void KvStore::append(int layer, int head, int64_t rows, View<const float> k, View<const float> v,
                     int64_t stride) {
  Head& h = at(layer, head);
  if (rows == 0) return;
  const int64_t least = (rows - 1) * stride + layout_.head_dim;
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
  const int64_t rows = added.rows, size = rows * added.kv_heads * layout_.head_dim;
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

/// Appends the rows to every head of the layer. Returns false if the device cannot.
bool KvStore::append_on_device(int layer, const DeviceAppend& rows) {
  DeviceAppend added = rows;
  added.kv_heads = static_cast<int>(added.k.size() / added.rows / layout_.head_dim);
  std::vector<PagedRows> lists;
  std::vector<int64_t> first;
  for (int h = 0; h < layout_.lists(layer); ++h) {
    lists.push_back(this->rows(layer, h));
    first.push_back(length(layer, h));
  }
  added.lists = lists;
  added.first = first;
  return queue_.device().ops().append(added);
}

/// Appends the rows through the host.
void KvStore::upload_rows(int layer, int64_t rows, View<const float> k, View<const float> v) {
  const int64_t stride = k.size() / rows, kv_heads = stride / layout_.head_dim;
  const int heads = layout_.lists(layer);
  LH_ASSERT(kv_heads > 0 && heads % kv_heads == 0);
  const int64_t per_kv_head = heads / kv_heads;
  HostStage on(queue_);
  const float *const keys = host(on(k)).data(), *const values = host(on(v)).data();
  for (int h = 0; h < heads; ++h) {
    const int64_t from = h / per_kv_head * layout_.head_dim;
    upload_rows(at(layer, h), length(layer, h), rows, keys + from, values + from, stride);
  }
}

void KvStore::upload_rows(const Head& h, int64_t first, int64_t rows, const float* k,
                          const float* v, int64_t stride) const {
  std::vector<std::byte> bytes(layout_.page_bytes());
  for (int64_t r = 0, run = 0; r < rows; r += run) {
    run = std::min<int64_t>(rows - r, layout_.page_rows - (first + r) % layout_.page_rows);
    const auto send = [&](DType type, bool key, const float* x, std::byte* to) {
      const size_t row = bytes_of(type, layout_.head_dim);
      for (int64_t i = 0; i < run; ++i) {
        write_row(type, key, x + (r + i) * stride, layout_.head_dim,
                  bytes.data() + static_cast<size_t>(i) * row);
      }
      queue_.device().upload(bytes.data(), to, static_cast<size_t>(run) * row);
    };
    send(layout_.type.k, true, k, key_at(h, first + r));
    send(layout_.type.v, false, v, value_at(h, first + r));
  }
}

/// Calls reserve_rows() for all heads. A device copies their shared pages at once.
void KvStore::reserve_layer(int layer, int64_t rows) {
  std::vector<DeviceBytes> copies;
  const auto send = [&] {
    if (!copies.empty()) queue_.device().copy_all(copies);
  };
  try {
    for (int h = 0; h < lists(layer); ++h) reserve_rows(at(layer, h), rows, &copies);
  } catch (...) {
    send();  // the pages have changed order
    throw;
  }
  send();
}

/// Reserves pages for `rows` more rows, so that writing them cannot fail. Copies of a device's
/// pages are made now, or noted in `copies`.
void KvStore::reserve_rows(Head& h, int64_t rows, std::vector<DeviceBytes>* copies) {
  LH_ASSERT(rows >= 0 && h.appended + rows <= std::numeric_limits<int32_t>::max());
  const int64_t per_page = layout_.page_rows;
  const bool on_device = !queue_.on_host();
  for (size_t page = static_cast<size_t>(h.length / per_page); page < h.pages.size(); ++page) {
    if (on_device && page == h.own_page) continue;
    make_writable(h, page, copies);
    h.own_page = page;
  }
  const size_t pages = static_cast<size_t>(layout_.pages_for(h.length + rows));
  if (pages > h.pages.capacity()) h.pages.reserve(std::max(pages, 2 * h.pages.size()));
  for (; h.pages.size() < pages; h.own_page = h.pages.size() - 1) {
    h.pages.push_back(memory_->acquire());
  }
}

void KvStore::write_rows(const Head& h, int64_t first, int64_t rows, const float* k, const float* v,
                         int64_t stride) const {
  for (int64_t r = 0; r < rows; ++r) {
    write_row(layout_.type.k, true, k + r * stride, layout_.head_dim, key_at(h, first + r));
    write_row(layout_.type.v, false, v + r * stride, layout_.head_dim, value_at(h, first + r));
  }
}

/// Counts written rows: their tokens and columns.
void KvStore::add_rows(Head& h, int64_t rows) {
  // Row i is not token i, and the host has the list of tokens.
  const bool numbered = h.appended != h.length && h.chosen.count == 0;
  const size_t before = numbered ? h.tokens.size() : 0;
  h.length += rows;
  h.appended += rows;
  const int64_t room = layout_.room_for(h.length);
  if (numbered) {
    set_room(h.tokens, room);
    h.tokens.resize(static_cast<size_t>(h.length));
    // Tokens are numbered for the first time: the existing rows are the first tokens.
    const auto kept = static_cast<size_t>(h.length - rows);
    if (before < kept) std::iota(h.tokens.begin(), h.tokens.end(), 0);
    std::iota(h.tokens.begin() + static_cast<std::ptrdiff_t>(kept), h.tokens.end(),
              static_cast<int32_t>(h.appended - rows));
  }
  for (Column& column : h.columns) {
    column.values.resize(h.length, room);
  }
}

void KvStore::make_writable(Head& h, size_t page, std::vector<DeviceBytes>* copies) {
  load(h, page);
  drop_slot(h, page);
  if (!memory_->shared(h.pages[page])) return;
  std::byte* copy = memory_->acquire();
  if (queue_.on_host()) {
    std::memcpy(copy, h.pages[page], layout_.page_bytes());
  } else if (copies == nullptr) {
    queue_.device().copy(h.pages[page], copy, layout_.page_bytes());
  } else {
    copies->push_back({h.pages[page], copy, layout_.page_bytes()});
  }
  h.changed(page);
  memory_->release(std::exchange(h.pages[page], copy));
}

void KvStore::release_from(Head& h, size_t page) {
  h.changed(page);
  for (; h.slots.size() > page; h.slots.pop_back()) {
    if (h.slots.back() != kNoSlot) file_->release(h.slots.back());
  }
  for (; h.pages.size() > page; h.pages.pop_back()) {
    if (h.pages.back() != nullptr) memory_->release(h.pages.back());
  }
}

void KvStore::release_all() {
  for (Head& h : heads_) release_from(h, 0);
}

void KvStore::clear() {
  release_all();
  for (Head& h : heads_) h = Head{};
}

void KvStore::read(int layer, int head, int64_t row, float* k, float* v) const {
  const Head& h = at(layer, head);
  LH_ASSERT(row >= 0 && row < h.length);
  const size_t page = static_cast<size_t>(row / layout_.page_rows);
  const auto in_page = static_cast<size_t>(row % layout_.page_rows);
  std::vector<std::byte> spilled(h.pages[page] == nullptr ? layout_.page_bytes() : 0);
  if (!spilled.empty()) file_->read(h.slots[page], spilled.data());
  Queue queue = queue_;
  HostStage on(queue);
  const std::byte* rows = spilled.empty() ? h.pages[page] : spilled.data();
  if (!queue_.on_host()) rows = on.bytes(rows, layout_.page_bytes());
  const int64_t dim = layout_.head_dim;
  read_row(layout_.type.k, true, rows + in_page * layout_.key_bytes(), dim, k);
  const std::byte* const value = rows + layout_.values_at() + in_page * layout_.value_bytes();
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
    column = std::prev(h.columns.end());
  }
  return column->values.view();
}

size_t KvStore::bytes() const {
  size_t bytes = 0;
  for (const Head& h : heads_) {
    const auto spilled = std::count(h.pages.begin(), h.pages.end(), nullptr);
    bytes += (h.pages.size() - static_cast<size_t>(spilled)) * layout_.page_bytes() +
             h.tokens.capacity() * sizeof(int32_t) + h.chosen.bytes();
    for (const Column& column : h.columns) bytes += column.values.bytes();
  }
  return bytes;
}

void KvStore::unshare() {
  for (Head& h : heads_) {
    for (size_t page = 0; page < h.pages.size(); ++page) {
      if (h.pages[page] != nullptr && memory_->shared(h.pages[page])) make_writable(h, page);
    }
  }
}

size_t KvStore::own_bytes() const {
  size_t shared = 0;
  for (const Head& h : heads_) {
    shared += static_cast<size_t>(std::ranges::count_if(
        h.pages, [&](const std::byte* page) { return page != nullptr && memory_->shared(page); }));
  }
  return bytes() - shared * layout_.page_bytes();
}

size_t KvStore::live_bytes() const {
  return static_cast<size_t>(live_rows()) * layout_.row_bytes();
}

int64_t KvStore::live_rows() const {
  int64_t rows = 0;
  for (const Head& h : heads_) rows += h.length;
  return rows;
}

}  // namespace longhaul
