#pragma once
// KvStore holds the keys and values of one sequence. It has one or more lists of rows in each
// layer, usually one per KV head. The parameter `head` is the index of a list in its layer. A row
// is the key and the value of one token. Each list has its own length, so an attention method that
// keeps fewer rows uses less memory. A list consists of pages of a fixed number of rows. Pages are
// allocated when rows are appended, and freed when rows are evicted.

#include <cstddef>
#include <cstdint>
#include <limits>
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

struct DeviceAppend;  // declared in ops/attention/row_moves.h

class ByteReader;
class ByteWriter;

/// The rows that a list keeps. Rows are numbered from the start of the list.
struct KeptList {
  int list = 0;
  RowList rows;
};

/// New keys and values of one layer. The keys are not rotated.
struct NewRows {
  int64_t rows = 0;
  int kv_heads = 0;
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]; further rows are ignored
  /// Queries of the same tokens, [rows, heads, head_dim], and memory for the queries after their
  /// rotation to the same positions as the keys. Both views may be empty.
  View<const float> q;
  View<float> rotated_q;
  bool raw_keys = false;  ///< whether only the queries are rotated, and the keys are stored raw
};

/// Only one thread may use a store at a time. Different threads may use stores that share pages.
class KvStore {
 public:
  /// Creates a store in host memory with its own page pool.
  explicit KvStore(const KvLayout& layout);
  /// Creates a store in the memory of the queue's device or of the host. All stores with the same
  /// page size share a page pool (kv/shared_pages.h).
  KvStore(const KvLayout& layout, const Queue& queue);
  /// Creates a store that allocates its pages from `memory`. A page has KvLayout::page_bytes()
  /// bytes. Several stores may share `memory`. All layers must have the same head_dim.
  KvStore(const KvLayout& layout, std::shared_ptr<PageMemory> memory, const Queue& queue = {});
  ~KvStore();
  KvStore(KvStore&& other) noexcept;
  KvStore& operator=(KvStore&& other) noexcept;
  /// Returns a second store with the same contents. Both share their pages until one of them
  /// writes.
  KvStore fork() const { return fork_as(layout_); }
  /// Returns a copy with another layout, for another method. The layouts must have the same page
  /// format (KvLayout::same_rows).
  KvStore fork_as(const KvLayout& layout) const;

  const KvLayout& layout() const { return layout_; }
  int lists(int layer) const { return layout_.lists(layer); }
  /// Returns the number of rows in a list.
  int64_t length(int layer, int head) const { return at(layer, head).length; }
  int64_t longest() const;  ///< returns the number of rows of the longest list
  /// Returns the number of rows that have been appended to the list, including evicted rows. It is
  /// also the token number of the next row.
  int64_t appended(int layer, int head) const { return at(layer, head).appended; }

  /// Appends `rows` rows to every list of a layer, converted to the types of the layout. k and v
  /// are [rows, kv_heads, head_dim]. The number of lists must be a multiple of kv_heads. If it is
  /// larger, the rows of each KV head are appended to several adjacent lists.
  void append(int layer, int64_t rows, View<const float> k, View<const float> v);
  /// Appends rows like append(), with key row r rotated to `position` + r. Returns false, without
  /// changes, if the device of the store has no such operation.
  bool append_rotated(int layer, const NewRows& added, const Rotations& rotations,
                      int64_t position);
  /// Appends rows to one list. Adjacent rows of k and v are `stride` floats apart.
  void append(int layer, int head, int64_t rows, View<const float> k, View<const float> v,
              int64_t stride);

  /// Keeps the given rows of a list in order and evicts all others. `rows` is ascending, without
  /// duplicates. On the host, whole pages move without copying if the number of evicted rows before
  /// them is a multiple of page_rows.
  void keep(int layer, int head, std::span<const int32_t> rows);
  /// Evicts rows from several lists of a layer like keep() above. Each list may occur once. If the
  /// row numbers are in device memory and their count is known on the host, one device operation
  /// handles all lists, and the host does not wait.
  void keep(int layer, std::span<const KeptList> lists);
  /// Returns whether a device can reduce every list of a layer to `rows` rows by moving rows within
  /// the list's pages. This requires that the pages have no other owners, and that a list loses at
  /// least one row and at most as many as a page holds.
  bool can_keep_in_place(int layer, int64_t rows) const;
  /// Evicts rows [begin, end) of a list.
  void drop(int layer, int head, int64_t begin, int64_t end);
  /// Removes the rows of a list from `length` on, as if they had never been appended. The next
  /// appended row gets the token number of the first removed row.
  void truncate(int layer, int head, int64_t length);
  void truncate(int64_t length);  ///< truncates all lists that are longer than `length`
  void clear();                   ///< removes all rows of all lists
  void unshare();                 ///< copies the pages that other stores also own

  /// Offloads the pages that lie completely within rows [begin, end) to a temporary file
  /// (kv/page_file.h). read() and keep() also work with offloaded rows, but attention requires rows
  /// in memory. Throws UserError if the file cannot be written; the page then stays in memory.
  void spill(int layer, int head, int64_t begin, int64_t end);
  /// Loads every offloaded page that contains one of the rows [begin, end) into memory.
  void load(int layer, int head, int64_t begin, int64_t end);
  /// Returns whether all rows [begin, end) are in memory.
  bool in_memory(int layer, int head, int64_t begin, int64_t end) const;

  /// Returns a description of a list's rows for attention kernels. It is valid until a list of the
  /// layer changes.
  PagedRows rows(int layer, int head) const;
  /// Loads the data of the layer's lists into the processor's cache. A decode step visits the lists
  /// of many stores, which do not fit there together.
  void prefetch(int layer) const;
  /// Reads one row as f32. k and v receive [head_dim] values each.
  void read(int layer, int head, int64_t row, float* k, float* v) const;

  /// Returns the token number of a row: the number of rows that had been appended to the list
  /// before it.
  int64_t token_of(int layer, int head, int64_t row) const;
  /// Returns the token numbers of all rows, in the memory of the store. The result is valid until
  /// the list changes.
  RowTokens tokens(int layer, int head) const;

  /// Returns a column of a list: one f32 number per row, such as the attention that the row
  /// received. A number stays with its row when rows are evicted or the store is copied or saved.
  /// The first call with a name creates the column. New rows have the number 0. The result is valid
  /// until the list changes.
  View<float> column(int layer, int head, std::string_view name);

  /// Returns the bytes of pages in memory, token numbers and columns. Shared pages count in full.
  /// The number is remembered until it changes, because a server reads it in each step.
  size_t bytes() const;
  /// Computes the same number from all lists. Tests compare the two.
  size_t count_bytes() const;
  size_t page_bytes() const;  ///< returns the bytes of pages in memory
  /// Returns the bytes that are freed with this store. Pages that other stores share are not
  /// included.
  size_t own_bytes() const;
  size_t spilled_bytes() const;  ///< returns the size in bytes of the pages that are only on disk
  /// Returns the size in bytes of all rows, without unused ends of pages.
  size_t live_bytes() const;
  int64_t live_rows() const;  ///< returns the number of rows in all lists

  /// Returns whether row i of every list is token i, all rows are in memory, and there are no
  /// columns.
  bool is_plain() const;
  /// save() writes the store to a session file, and restore() reads it. If `first` is above 0, the
  /// store must be plain (is_plain()). The file then omits the rows before `first`, and restore()
  /// keeps the rows before `first` that the store already has. restore() throws UserError if the
  /// layout differs or the file is invalid; the store is then unchanged.
  void save(ByteWriter& out, int64_t first = 0) const;
  void restore(ByteReader& in, int64_t first = 0);

 private:
  struct Column {
    std::string name;
    RowNumbers values;
  };
  /// On a device: addresses of the pages of a layer's lists, for kernels. There is room for `room`
  /// addresses per list.
  struct PageTable {
    DeviceBuffer memory;
    size_t room = 0;
  };
  /// On a device: token numbers of the first `count` rows of a list, after an eviction whose row
  /// numbers the host has not downloaded. The other rows are the most recent tokens in order.
  /// Copies of a store share the memory.
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
    size_t space = 0;  ///< index in spaces_
    int64_t length = 0;
    int64_t appended = 0;           ///< number of rows appended so far, including evicted rows
    std::vector<std::byte*> pages;  ///< null if the page is only on disk
    /// Per page: its slot in the PageFile, or kNoSlot. Trailing pages without a slot may be
    /// omitted.
    std::vector<uint32_t> slots;
    /// Token number of each row. The vector is empty if row i is token i. It is not valid while
    /// chosen.count is above 0.
    mutable std::vector<int32_t> tokens;
    mutable ChosenTokens chosen;
    std::vector<Column> columns;
    /// On a device: number of pages whose addresses are already in the layer's PageTable.
    mutable size_t listed = 0;
    /// On a device: index of a page that is known to have no other owner, so that not every append
    /// must look up the page's owners.
    mutable size_t own_page = kNoPage;
    /// On a device: true if it is known that no page has another owner. The flag is set when the
    /// list is empty or its rows have been copied to new pages. It is cleared when pages become
    /// shared.
    mutable bool alone = true;
    static constexpr size_t kNoPage = ~size_t{0};
    void changed(size_t page) {
      listed = std::min(listed, page);
      own_page = kNoPage;
    }
  };
  /// The rows that a list keeps; their row numbers are in device memory.
  struct Chosen {
    int head = 0;
    View<const int32_t> rows;
  };

  static constexpr uint32_t kNoSlot = ~0u;
  static constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

  /// Page memory and offload file for lists with one row format.
  struct Space {
    RowForm form;
    std::shared_ptr<PageMemory> memory;
    std::shared_ptr<PageFile> file;
  };
  KvStore(KvLayout layout, std::vector<Space> spaces, Queue queue);
  static std::vector<Space> spaces_of(const KvLayout& layout, const Queue* shared_on);
  /// Forgets the number of bytes. Everything that changes it must call this.
  void forget_bytes() const { known_bytes_ = kUnknown; }
  const Space& space(const Head& h) const { return spaces_[h.space]; }
  const RowForm& form(const Head& h) const { return spaces_[h.space].form; }
  PageMemory& memory(const Head& h) const { return *spaces_[h.space].memory; }
  PageFile& file(const Head& h) const { return *spaces_[h.space].file; }
  Head& at(int layer, int head) { return heads_[index(layer, head)]; }
  const Head& at(int layer, int head) const { return heads_[index(layer, head)]; }
  size_t index(int layer, int head) const;
  std::span<Head> heads_of(int layer) {
    return std::span(heads_).subspan(first_head_[static_cast<size_t>(layer)],
                                     static_cast<size_t>(lists(layer)));
  }
  PagedRows rows(int layer, int head, const Head& h) const;
  std::byte* key_at(const Head& h, int64_t row) const;
  std::byte* value_at(const Head& h, int64_t row) const;

  void reserve_layer(int layer, int64_t rows);
  void reserve_rows(Head& h, int64_t rows, std::vector<DeviceBytes>* copies = nullptr);
  void add_rows(Head& h, int64_t rows);
  /// Returns whether reserve_rows() would change nothing. This is the usual case for a generated
  /// token: the list's last page has room and no other owner.
  bool has_room_for(const Head& h, int64_t rows) const {
    const int64_t pages = std::ssize(h.pages), page_rows = layout_.page_rows;
    if (queue_.on_host() || !h.slots.empty() || h.length + rows > pages * page_rows ||
        h.appended + rows > kMostTokens) {
      return false;
    }
    return h.alone || (h.own_page + 1 == h.pages.size() && h.length >= (pages - 1) * page_rows);
  }
  void write_rows(const Head& h, int64_t first, int64_t rows, const float* k, const float* v,
                  int64_t stride) const;
  friend class StoreCopy;
  friend class AppendBatch;
  friend class KeepBatch;
  bool append_on_device(int layer, const DeviceAppend& rows);
  void upload_rows(int layer, int64_t rows, View<const float> k, View<const float> v);
  void upload_rows(const Head& h, int64_t first, int64_t rows, const float* k, const float* v,
                   int64_t stride) const;
  void list_pages(int layer) const;
  bool can_keep_in_place(const Head& h, int64_t rows) const;
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
  std::vector<Space> spaces_;  ///< one for each row format of the layers
  Queue queue_;
  std::vector<size_t> first_head_;  ///< per layer: index of its first list in heads_
  std::vector<Head> heads_;
  mutable std::vector<PageTable> tables_;  ///< per layer, on a device
  PageTable other_table_;  ///< page addresses to which the kept rows of a layer move
  static constexpr size_t kUnknown = ~size_t{0};
  mutable size_t known_bytes_ = kUnknown;  ///< the result of bytes()
};

}  // namespace longhaul
