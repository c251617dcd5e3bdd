#pragma once
// How a KV store is laid out: heads per layer, the form of a row, the size of a page.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/kv_type.h"

namespace longhaul {

struct KvLayout {
  std::vector<int> heads;  ///< per layer: KV heads, or what a method stores instead
  int head_dim = 0;
  KvType type;         ///< holds head_dim
  int page_rows = 64;  ///< tokens in a page; a power of two
  /// How many 4-byte numbers a method keeps beside a row at most: one for its token, where rows
  /// before it were forgotten, and one for every column (KvStore::column).
  int numbers_per_row = 0;

  int layers() const { return static_cast<int>(heads.size()); }
  int all_heads() const;
  int lists(int layer) const { return heads[static_cast<size_t>(layer)]; }  ///< of a layer
  size_t key_bytes() const { return bytes_of(type.k, head_dim); }           ///< of a row
  size_t value_bytes() const { return bytes_of(type.v, head_dim); }
  size_t row_bytes() const { return key_bytes() + value_bytes(); }
  size_t page_bytes() const { return static_cast<size_t>(page_rows) * row_bytes(); }
  /// Where a page's values begin: its keys lie before them.
  size_t values_at() const { return static_cast<size_t>(page_rows) * key_bytes(); }
  int64_t pages_for(int64_t rows) const { return (rows + page_rows - 1) / page_rows; }
  int64_t room_for(int64_t rows) const { return pages_for(rows) * page_rows; }  ///< whole pages
  /// Bytes that `tokens` tokens take in all layers and heads, whole pages, with their numbers.
  size_t bytes_for(int64_t tokens) const;
  /// Whether pages of one are pages of the other.
  bool same_rows(const KvLayout& other) const;
};

}  // namespace longhaul
