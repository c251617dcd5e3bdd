#pragma once
// The keys and values of one sequence: a list of rows for every layer and head. Each list has its
// own length, so a method that keeps fewer rows uses less memory. Memory grows page by page with
// the kept rows and shrinks when rows are evicted; nothing is reserved.

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

struct DeviceAppend;  // ops/attention/row_moves.h

class ByteReader;
class ByteWriter;

/// Kept rows of one list of a layer.
struct KeptList {
  int list = 0;
  RowList rows;
};

/// New rows of one layer, not rotated.
struct NewRows {
  int64_t rows = 0;
  int kv_heads = 0;
  View<const float> k, v;  ///< [rows, kv_heads, head_dim], or more rows
  /// Queries [rows, heads, head_dim] of the same rows, and their destination after they are rotated
  /// as the keys are. Both may be empty.
  View<const float> q;
  View<float> rotated_q;
};

/// One store is used by one thread at a time. Stores that share pages may be used by several
/// threads.
class KvStore {
 public:
  /// A store in host memory with its own page pool.
  explicit KvStore(const KvLayout& layout);
  /// A store in the memory where the queue works. All stores with this page size share its page
  /// pool (kv/shared_pages.h).
  KvStore(const KvLayout& layout, const Queue& queue);
  /// Takes pages of KvLayout::page_bytes() from `memory`, which stores may share. All layers must
  /// have heads of one size.
  KvStore(const KvLayout& layout, std::shared_ptr<PageMemory> memory, const Queue& queue = {});
  ~KvStore();
  KvStore(KvStore&& other) noexcept;
  KvStore& operator=(KvStore&& other) noexcept;
  /// A second store with the same contents. Pages are shared until one of the two stores writes.
  KvStore fork() const { return fork_as(layout_); }
  /// A copy for a method whose layout has the same rows (KvLayout::same_rows).
  KvStore fork_as(const KvLayout& layout) const;

  const KvLayout& layout() const { return layout_; }
  int lists(int layer) const { return layout_.lists(layer); }
  int64_t length(int layer, int head) const { return at(layer, head).length; }
  int64_t longest() const;  ///< rows of the longest head
  /// Number of tokens ever appended to this head, which is the token number of the next row.
  int64_t appended(int layer, int head) const { return at(layer, head).appended; }

  /// Appends `rows` rows to every head of a layer, converted to the layout's type. k and v are
  /// [rows, kv_heads, head_dim], where kv_heads divides the layer's heads: each KV head then writes
  /// to as many neighbouring heads of the store.
  void append(int layer, int64_t rows, View<const float> k, View<const float> v);
  /// Appends rows and rotates key row r to position + r. Returns false, without changes, if the
  /// store's device has no such operation.
  bool append_rotated(int layer, const NewRows& added, const Rotations& rotations,
                      int64_t position);
  /// Appends rows to one head. Rows of k and v are `stride` floats apart.
  void append(int layer, int head, int64_t rows, View<const float> k, View<const float> v,
              int64_t stride);

  /// Keeps the listed rows (ascending, unique) in order and evicts the others. On the host later
  /// pages move without a copy if the number of adjacent evicted rows is a multiple of page_rows.
  void keep(int layer, int head, std::span<const int32_t> rows);
  /// Keeps rows in several lists of a layer, each named once. If a device selected the rows and the
  /// host has their number, there is one operation for all lists and no wait.
  void keep(int layer, std::span<const KeptList> lists);
  /// Evicts rows [begin, end), like keep() of all other rows.
  void drop(int layer, int head, int64_t begin, int64_t end);
  /// Undoes the appending of the rows from `length` on. The next appended row gets the token number
  /// of the first of them.
  void truncate(int layer, int head, int64_t length);
  void truncate(int64_t length);  ///< truncates every longer head
  void clear();                   ///< restores the initial state
  void unshare();                 ///< copies the pages that have other owners

  /// Offloads the pages that lie completely within rows [begin, end) to a temporary file
  /// (kv/page_file.h). Offloaded rows can be read() and kept, but attention needs them in memory.
  /// Throws UserError if the file cannot be written; the page stays in memory then.
  void spill(int layer, int head, int64_t begin, int64_t end);
  /// Loads every page with one of rows [begin, end) into memory.
  void load(int layer, int head, int64_t begin, int64_t end);
  /// Whether all of rows [begin, end) are in memory.
  bool in_memory(int layer, int head, int64_t begin, int64_t end) const;

  /// The rows in the form that attention reads. Valid until a head of the layer changes.
  PagedRows rows(int layer, int head) const;
  /// One row as f32, [head_dim] each.
  void read(int layer, int head, int64_t row, float* k, float* v) const;

  /// The token of a row: its number among all tokens appended to this head.
  int64_t token_of(int layer, int head, int64_t row) const;
  /// The tokens of all rows, in the memory of the store. Valid until the head changes.
  RowTokens tokens(int layer, int head) const;

  /// A named number per row (received attention, counters), which is moved, evicted, cloned and
  /// saved with the row. The column is created at first use; new rows have 0. Valid until the head
  /// changes.
  View<float> column(int layer, int head, std::string_view name);

  size_t bytes() const;  ///< pages in memory (shared ones count in full), token lists and columns
  /// Bytes without the pages that have other owners: the memory that is freed with this store.
  size_t own_bytes() const;
  size_t spilled_bytes() const;  ///< offloaded pages without a copy in memory
  size_t live_bytes() const;     ///< kept keys and values, without the unused ends of pages
  int64_t live_rows() const;     ///< sum over all layers and heads

  /// Whether row i of every head is token i, in memory and without columns.
  bool is_plain() const;
  /// Saves to and restores from a session file. The rows before `first` are left out: the store
  /// must be plain then, and restore() keeps those of this store, which has them. restore() throws
  /// UserError if the layout differs or the file is invalid; the store is unchanged then.
  void save(ByteWriter& out, int64_t first = 0) const;
  void restore(ByteReader& in, int64_t first = 0);

 private:
  struct Column {
    std::string name;
    RowNumbers values;
  };
  /// Addresses of the pages of a layer's heads for a device's kernels, with room for `room`
  /// addresses per head.
  struct PageTable {
    DeviceBuffer memory;
    size_t room = 0;
  };
  /// Tokens of a head's first rows, which a device selected and the host has not downloaded. The
  /// later rows are the most recent tokens in order. Clones share the memory.
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
    size_t space = 0;  ///< number of the space of its pages
    int64_t length = 0;
    int64_t appended = 0;           ///< tokens ever appended
    std::vector<std::byte*> pages;  ///< null: offloaded, without a copy in memory
    std::vector<uint32_t> slots;    ///< slots of offloaded pages; no longer than necessary
    /// Token of each row; empty while rows are tokens 0, 1, ... Invalid while `chosen` holds
    /// tokens.
    mutable std::vector<int32_t> tokens;
    mutable ChosenTokens chosen;
    std::vector<Column> columns;
    /// On a device: the number of page addresses in the layer's table.
    mutable size_t listed = 0;
    /// On a device: a page that is known to have no other owner, so that appends need not ask the
    /// page memory for each token.
    mutable size_t own_page = kNoPage;
    static constexpr size_t kNoPage = ~size_t{0};
    void changed(size_t page) {
      listed = std::min(listed, page);
      own_page = kNoPage;
    }
  };
  /// Kept rows of a list, selected by a device.
  struct Chosen {
    int head = 0;
    View<const int32_t> rows;
  };

  static constexpr uint32_t kNoSlot = ~0u;

  /// Memory and file of the pages of rows of one form.
  struct Space {
    RowForm form;
    std::shared_ptr<PageMemory> memory;
    std::shared_ptr<PageFile> file;
  };
  KvStore(KvLayout layout, std::vector<Space> spaces, Queue queue);
  static std::vector<Space> spaces_of(const KvLayout& layout, const Queue* shared_on);
  const Space& space(const Head& h) const { return spaces_[h.space]; }
  const RowForm& form(const Head& h) const { return spaces_[h.space].form; }
  PageMemory& memory(const Head& h) const { return *spaces_[h.space].memory; }
  PageFile& file(const Head& h) const { return *spaces_[h.space].file; }
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
  friend class AppendBatch;
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
  void each_stretch(const Head& h, int64_t first, int64_t length, bool loading,
                    Visit&& visit) const;
  void save_head(const Head& h, int64_t first, ByteWriter& out) const;
  std::pair<int64_t, int64_t> restore_head(Head& h, int64_t first, ByteReader& in);
  std::pair<int64_t, int64_t> spilled_rows(const Head& h) const;

  KvLayout layout_;
  std::vector<Space> spaces_;  ///< one for each size of rows
  Queue queue_;
  std::vector<size_t> first_head_;  ///< per layer: index of its first list in heads_
  std::vector<Head> heads_;
  mutable std::vector<PageTable> tables_;  ///< per layer, on a device
  PageTable other_table_;                  ///< addresses of the pages to which kept rows of a layer
                                           ///< move
};

}  // namespace longhaul
