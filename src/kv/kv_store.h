#pragma once
// The keys and values of one session: for every layer and head a list of rows of its own length.
// That lengths differ by head is what lets a method keep less and really hold less. Memory grows
// page by page with the rows that live and shrinks when they leave; nothing is reserved.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "kv/page_pool.h"
#include "ops/attention.h"

namespace longhaul {

class ByteReader;
class ByteWriter;

struct KvLayout {
  std::vector<int> heads;  ///< per layer: KV heads, or what a method stores instead
  int head_dim = 0;
  DType type = DType::BF16;  ///< F32, F16, BF16 or Q8_0 (then head_dim is a multiple of 32)
  int page_rows = 64;        ///< tokens in a page

  int layers() const { return static_cast<int>(heads.size()); }
  size_t row_bytes() const { return bytes_of(type, head_dim); }
  size_t page_bytes() const { return 2 * static_cast<size_t>(page_rows) * row_bytes(); }
  /// Bytes that `tokens` tokens take in all layers and heads, whole pages.
  size_t bytes_for(int64_t tokens) const;
  bool operator==(const KvLayout&) const = default;
};

class KvStore {
 public:
  explicit KvStore(KvLayout layout);
  ~KvStore();
  KvStore(KvStore&&) noexcept;
  KvStore& operator=(KvStore&&) noexcept;
  /// A second stream with the same contents. Pages are shared until one of the two writes.
  KvStore fork() const;

  const KvLayout& layout() const { return layout_; }
  int64_t length(int layer, int head) const { return at(layer, head).length; }
  int64_t longest() const;  ///< rows of the longest head

  /// Appends `rows` rows to every head of a layer; k and v are [rows, heads, head_dim] f32 and are
  /// converted to the layout's type.
  void append(int layer, int64_t rows, const float* k, const float* v);
  /// The same for one head; rows of k and v are `stride` floats apart.
  void append(int layer, int head, int64_t rows, const float* k, const float* v, int64_t stride);

  /// Keeps the listed rows (ascending, unique), in order, and forgets the others for good.
  void keep(int layer, int head, std::span<const int32_t> rows);
  /// Forgets rows from `length` on.
  void truncate(int layer, int head, int64_t length);
  void truncate(int64_t length);  ///< every head that is longer
  void clear() { truncate(0); }

  /// The rows as attention reads them. Valid until the head changes.
  PagedRows rows(int layer, int head) const;
  /// One row as f32.
  void read(int layer, int head, int64_t row, float* k, float* v) const;

  /// Which token a row came from: its number among all tokens appended to this head.
  int64_t token_of(int layer, int head, int64_t row) const;

  /// A named number per row that moves, leaves, forks and is saved with the rows (accumulated
  /// attention, counters). Created with zeros at first use; new rows start at zero.
  std::span<float> column(int layer, int head, std::string_view name);

  size_t bytes() const;       ///< pages held (shared ones count in full) and columns
  size_t live_bytes() const;  ///< rows that live, without the unused ends of pages
  int64_t live_rows() const;  ///< over all layers and heads

  /// Contents to and from a session file. restore() throws UserError when the layout differs.
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);

 private:
  struct Column {
    std::string name;
    std::vector<float> values;
  };
  struct Head {
    int64_t length = 0;
    int64_t appended = 0;  ///< tokens ever appended
    std::vector<std::byte*> pages;
    std::vector<int32_t> tokens;  ///< token of each row; empty while rows are tokens 0, 1, ...
    std::vector<Column> columns;
  };

  Head& at(int layer, int head) { return heads_[index(layer, head)]; }
  const Head& at(int layer, int head) const { return heads_[index(layer, head)]; }
  size_t index(int layer, int head) const;
  std::byte* key_at(const Head& h, int64_t row) const;
  std::byte* value_at(const Head& h, int64_t row) const;
  void reserve_rows(Head& h, int64_t rows);
  void make_writable(Head& h, size_t page);
  void release_from(Head& h, size_t page);
  void convert(const float* x, std::byte* row) const;

  KvLayout layout_;
  std::shared_ptr<PagePool> pool_;
  std::vector<size_t> first_head_;  ///< per layer, into heads_
  std::vector<Head> heads_;
};

}  // namespace longhaul
