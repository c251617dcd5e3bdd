#pragma once
// The keys and values of one sequence: a list of rows for every layer and head. Each list has a
// length of its own, so that a method that keeps fewer rows really holds less memory. Memory grows
// page by page with the rows that live and shrinks when they leave; nothing is reserved.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/kv_layout.h"
#include "kv/page_file.h"
#include "kv/page_memory.h"
#include "kv/row_numbers.h"
#include "ops/attention/attention.h"
#include "ops/choose/row_tokens.h"
#include "ops/core/row_list.h"

namespace longhaul {

struct DeviceAppend;  // ops/core/device_ops.h

class ByteReader;
class ByteWriter;

/// Rows of a list of a layer that stay.
struct StayingRows {
  int list = 0;
  RowList rows;
};

/// New rows of one layer, not rotated.
struct NewRows {
  int64_t rows = 0;
  int kv_heads = 0;
  View<const float> k, v;  ///< [rows, kv_heads, head_dim], or more rows
  /// Queries [rows, heads, head_dim] of the same rows, and where they go, rotated as the keys are;
  /// both may be empty.
  View<const float> q;
  View<float> rotated_q;
};

/// One store is used by one thread at a time; stores that share pages may be on several threads.
class KvStore {
 public:
  /// In host memory, with a page pool of its own.
  explicit KvStore(const KvLayout& layout);
  /// In the memory of the queue's place, with a page pool that all stores with this page size share
  /// (kv/shared_pages.h).
  KvStore(const KvLayout& layout, const Queue& queue);
  /// With pages of KvLayout::page_bytes() from `memory`, which stores may share.
  KvStore(const KvLayout& layout, std::shared_ptr<PageMemory> memory, const Queue& queue = {});
  ~KvStore();
  KvStore(KvStore&& other) noexcept;
  KvStore& operator=(KvStore&& other) noexcept;
  /// A second stream with the same contents. Pages are shared until one of the two writes.
  KvStore fork() const { return fork_as(layout_); }
  /// The same for a method whose layout has the same rows (KvLayout::same_rows).
  KvStore fork_as(const KvLayout& layout) const;

  const KvLayout& layout() const { return layout_; }
  int lists(int layer) const { return layout_.lists(layer); }
  int64_t length(int layer, int head) const { return at(layer, head).length; }
  int64_t longest() const;  ///< rows of the longest head
  /// Tokens ever appended to this head: the next row appended is this token.
  int64_t appended(int layer, int head) const { return at(layer, head).appended; }

  /// Appends `rows` rows to every head of a layer, converted to the layout's type. k and v are
  /// [rows, kv_heads, head_dim], where kv_heads divides the layer's heads: each KV head then feeds
  /// as many neighbouring heads of the store.
  void append(int layer, int64_t rows, View<const float> k, View<const float> v);
  /// The same with key row r rotated at position + r on the way; false, and nothing is done, where
  /// the store's device has no such operation.
  bool append_rotated(int layer, const NewRows& added, const Rotations& rotations,
                      int64_t position);
  /// The same for one head; rows of k and v are `stride` floats apart.
  void append(int layer, int head, int64_t rows, View<const float> k, View<const float> v,
              int64_t stride);

  /// Keeps the listed rows (ascending, unique), in order, and forgets the others for good. On the
  /// host later pages move without a copy where the rows that are dropped in a row are a multiple
  /// of page_rows.
  void keep(int layer, int head, std::span<const int32_t> rows);
  /// The same for several lists of a layer, each named once. Where a device chose the rows, and the
  /// host knows how many, it is told once for all lists and not waited for.
  void keep(int layer, std::span<const StayingRows> lists);
  /// Forgets rows [begin, end) for good, just as keep() of all other rows would.
  void drop(int layer, int head, int64_t begin, int64_t end);
  /// Undoes the appending of the rows from `length` on: the next row appended gets the token number
  /// that the first of them had.
  void truncate(int layer, int head, int64_t length);
  void truncate(int64_t length);  ///< every head that is longer
  void clear();                   ///< as newly made
  void unshare();                 ///< copies the pages that have other owners

  /// Takes the pages that lie wholly within rows [begin, end) out of memory, into a temporary file
  /// (kv/page_file.h). Such rows may be read() and kept, but attention needs them loaded. Throws
  /// UserError when the file cannot be written; the page stays in memory then.
  void spill(int layer, int head, int64_t begin, int64_t end);
  /// Brings every page that holds one of rows [begin, end) back into memory.
  void load(int layer, int head, int64_t begin, int64_t end);
  /// Whether all of rows [begin, end) are in memory.
  bool in_memory(int layer, int head, int64_t begin, int64_t end) const;

  /// The rows as attention reads them. Valid until a head of the layer changes.
  PagedRows rows(int layer, int head) const;
  /// One row as f32, [head_dim] each.
  void read(int layer, int head, int64_t row, float* k, float* v) const;

  /// Which token a row came from: its number among all tokens appended to this head.
  int64_t token_of(int layer, int head, int64_t row) const;
  /// The same of all rows, where the store is. Valid until the head changes.
  RowTokens tokens(int layer, int head) const;

  /// A named number per row that moves, leaves, forks and is saved with the rows (accumulated
  /// attention, counters). Created with zeros at first use; new rows start at zero. Valid until
  /// the head changes.
  View<float> column(int layer, int head, std::string_view name);

  size_t bytes() const;  ///< pages in memory (shared ones count in full), token lists and columns
  /// The same without pages that have other owners: what is free when this store goes.
  size_t own_bytes() const;
  size_t spilled_bytes() const;  ///< pages in the slower tier only
  size_t live_bytes() const;     ///< keys and values that live, without the unused ends of pages
  int64_t live_rows() const;     ///< over all layers and heads

  /// Contents to and from a session file. restore() throws UserError when the layout differs or the
  /// file makes no sense; the store is unchanged then.
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);

 private:
  struct Column {
    std::string name;
    RowNumbers values;
  };
  /// Where a device's kernels find the pages of a layer's heads: room for `room` addresses each.
  struct PageTable {
    DeviceBuffer memory;
    size_t room = 0;
  };
  /// Tokens of a head's first rows that were chosen on a device, until the host asks for them. The
  /// rows behind came from the last tokens, one after the other. Forks share the memory.
  struct ChosenTokens {
    View<int32_t> view(const Queue& queue) const {
      if (count == 0) return {nullptr, 0, queue.place()};
      return {static_cast<int32_t*>(memory->data()), count, queue.place()};
    }
    size_t bytes() const { return memory == nullptr ? 0 : memory->capacity(); }
    std::shared_ptr<DeviceBuffer> memory;
    int64_t count = 0;
  };
  struct Head {
    int64_t length = 0;
    int64_t appended = 0;           ///< tokens ever appended
    std::vector<std::byte*> pages;  ///< null: in the slower tier only
    std::vector<uint32_t> slots;    ///< of pages in the slower tier; as long as it must be
    /// Token of each row; empty while rows are tokens 0, 1, ... Not told while `chosen` holds any.
    mutable std::vector<int32_t> tokens;
    mutable ChosenTokens chosen;
    std::vector<Column> columns;
    /// On a device: how many of the pages' addresses are in the layer's table.
    mutable size_t listed = 0;
    void changed(size_t page) { listed = std::min(listed, page); }
  };
  /// A list of which rows stay that a device chose.
  struct Chosen {
    int head = 0;
    View<const int32_t> rows;
  };

  static constexpr uint32_t kNoSlot = ~0u;

  KvStore(KvLayout layout, std::shared_ptr<PageMemory> memory, std::shared_ptr<PageFile> file,
          Queue queue);
  Head& at(int layer, int head) { return heads_[index(layer, head)]; }
  const Head& at(int layer, int head) const { return heads_[index(layer, head)]; }
  size_t index(int layer, int head) const;
  std::byte* key_at(const Head& h, int64_t row) const;
  std::byte* value_at(const Head& h, int64_t row) const;

  void reserve_layer(int layer, int64_t rows);
  void reserve_rows(Head& h, int64_t rows, std::vector<DeviceBytes>* copies = nullptr);
  void add_rows(Head& h, int64_t rows);
  void write_rows(const Head& h, int64_t first, int64_t rows, const float* k, const float* v,
                  int64_t stride) const;
  bool append_on_device(int layer, const DeviceAppend& rows);
  void upload_rows(int layer, int64_t rows, View<const float> k, View<const float> v);
  void upload_rows(const Head& h, int64_t first, int64_t rows, const float* k, const float* v,
                   int64_t stride) const;
  void list_pages(int layer) const;
  bool keep_there(int layer, std::span<const Chosen> lists);
  void tell_tokens(const Head& h) const;
  void ask_tokens(const Head& h) const;
  void gather_by_host(Head& h, std::span<const int32_t> rows);
  void make_writable(Head& h, size_t page, std::vector<DeviceBytes>* copies = nullptr);
  void load(Head& h, size_t page);
  void drop_slot(Head& h, size_t page);
  void release_from(Head& h, size_t page);
  void release_all();
  void take_to_change(Head& h, int64_t first);
  void move_rows(Head& h, int64_t to, int64_t from, int64_t rows);
  void shorten(Head& h, int64_t length);
  template <class Visit>
  void each_stretch(const Head& h, int64_t length, bool loading, Visit&& visit) const;
  void save_head(const Head& h, ByteWriter& out) const;
  std::pair<int64_t, int64_t> restore_head(Head& h, ByteReader& in);
  std::pair<int64_t, int64_t> spilled_rows(const Head& h) const;

  KvLayout layout_;
  std::shared_ptr<PageMemory> memory_;
  std::shared_ptr<PageFile> file_;
  Queue queue_;
  std::vector<size_t> first_head_;  ///< per layer, into heads_
  std::vector<Head> heads_;
  mutable std::vector<PageTable> tables_;  ///< per layer, on a device
  PageTable other_table_;                  ///< of the pages that rows of a layer move to
};

}  // namespace longhaul
