#pragma once
// Describes the layout of a KV store: lists per layer, format of rows, and size of pages.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/attention/kv_type.h"

namespace longhaul {

/// The format of the rows of a list. A row is the key and the value of one token.
struct RowForm {
  int head_dim = 0;
  KvType type;                  ///< types of keys and values
  int page_rows = 64;           ///< rows in a page; a power of two
  bool values_in_keys = false;  ///< whether the key is also the value and is stored once

  size_t key_bytes() const { return bytes_of(type.k, head_dim); }  ///< returns the bytes per row
  size_t value_bytes() const { return values_in_keys ? 0 : bytes_of(type.v, head_dim); }
  size_t row_bytes() const { return key_bytes() + value_bytes(); }
  size_t page_bytes() const { return static_cast<size_t>(page_rows) * row_bytes(); }
  /// Returns the offset in a page at which the values begin. The values follow the keys.
  size_t values_at() const {
    return values_in_keys ? 0 : static_cast<size_t>(page_rows) * key_bytes();
  }
  bool operator==(const RowForm&) const = default;
};

struct KvLayout {
  std::vector<int> heads;  ///< per layer: number of lists; usually one list per KV head
  int head_dim = 0;        ///< largest of all layers
  KvType type;             ///< types of keys and values
  int page_rows = 64;      ///< rows in a page; a power of two
  /// Largest number of 4-byte values that are stored with each row. If rows can be evicted, one of
  /// them is the row's token number. There is one more for every column (KvStore::column).
  int numbers_per_row = 0;
  std::vector<int> head_dims = {};  ///< per layer; empty: head_dim in all layers
  /// Whether the key of a row is also its value and is stored once (multi-head latent attention).
  bool values_in_keys = false;

  int layers() const { return static_cast<int>(heads.size()); }
  /// Returns the number of lists in all layers.
  int all_heads() const;
  /// Returns the number of lists in a layer.
  int lists(int layer) const { return heads[static_cast<size_t>(layer)]; }
  int dim_of(int layer) const {
    return head_dims.empty() ? head_dim : head_dims[static_cast<size_t>(layer)];
  }
  RowForm form_of(int layer) const { return {dim_of(layer), type, page_rows, values_in_keys}; }
  RowForm largest_form() const { return {head_dim, type, page_rows, values_in_keys}; }
  /// Returns the bytes of the largest row.
  size_t row_bytes() const { return largest_form().row_bytes(); }
  /// Returns the bytes of the largest page.
  size_t page_bytes() const { return largest_form().page_bytes(); }
  int64_t pages_for(int64_t rows) const { return (rows + page_rows - 1) / page_rows; }
  /// Returns `rows`, rounded up to whole pages.
  int64_t room_for(int64_t rows) const { return pages_for(rows) * page_rows; }
  /// Returns the bytes of `tokens` tokens in all lists of all layers. These bytes include the
  /// values of numbers_per_row, and are rounded up to whole pages.
  size_t bytes_for(int64_t tokens) const;
  /// Returns the bytes of `tokens` tokens in one list of a layer.
  size_t list_bytes_for(int layer, int64_t tokens) const;
  /// Returns whether the pages of both layouts have the same format.
  bool same_rows(const KvLayout& other) const;
};

}  // namespace longhaul
