#pragma once
// KvLayout describes the layout of a KV store: the number of lists per layer, the format of rows,
// and the size of pages. A list holds the stored rows of one KV head in one layer. A row is the key
// and the value of one token.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/attention/kv_type.h"

namespace longhaul {

/// The format of the rows of a list.
struct RowForm {
  int head_dim = 0;
  KvType type;                  ///< types of keys and values
  int page_rows = 64;           ///< rows in a page; a power of two
  bool values_in_keys = false;  ///< whether a row is one vector, which is both key and value

  size_t key_bytes() const { return bytes_of(type.k, head_dim); }  ///< returns the size of a key
  size_t value_bytes() const { return values_in_keys ? 0 : bytes_of(type.v, head_dim); }
  size_t row_bytes() const { return key_bytes() + value_bytes(); }
  size_t page_bytes() const { return static_cast<size_t>(page_rows) * row_bytes(); }
  /// Returns the offset in bytes of the first value in a page. All keys of a page precede its
  /// values.
  size_t values_at() const {
    return values_in_keys ? 0 : static_cast<size_t>(page_rows) * key_bytes();
  }
  bool operator==(const RowForm&) const = default;
};

struct KvLayout {
  std::vector<int> heads;  ///< per layer: number of lists, usually one per KV head
  int head_dim = 0;        ///< largest of all layers
  KvType type;             ///< types of keys and values
  int page_rows = 64;      ///< rows in a page; a power of two
  /// Largest number of 4-byte numbers that are stored with each row: its token number if rows can
  /// be evicted, and one number per column (KvStore::column).
  int numbers_per_row = 0;
  std::vector<int> head_dims = {};  ///< per layer; empty: head_dim in all layers
  /// Whether a row is one vector, which is both key and value (multi-head latent attention).
  bool values_in_keys = false;

  int layers() const { return static_cast<int>(heads.size()); }
  /// Returns the total number of lists of all layers.
  int all_heads() const;
  /// Returns the number of lists in a layer.
  int lists(int layer) const { return heads[static_cast<size_t>(layer)]; }
  int dim_of(int layer) const {
    return head_dims.empty() ? head_dim : head_dims[static_cast<size_t>(layer)];
  }
  RowForm form_of(int layer) const { return {dim_of(layer), type, page_rows, values_in_keys}; }
  RowForm largest_form() const { return {head_dim, type, page_rows, values_in_keys}; }
  /// Returns the size in bytes of a row in the layers with the largest head_dim.
  size_t row_bytes() const { return largest_form().row_bytes(); }
  /// Returns the size in bytes of a page in the layers with the largest head_dim.
  size_t page_bytes() const { return largest_form().page_bytes(); }
  int64_t pages_for(int64_t rows) const { return (rows + page_rows - 1) / page_rows; }
  /// Returns `rows`, rounded up to whole pages.
  int64_t room_for(int64_t rows) const { return pages_for(rows) * page_rows; }
  /// Returns the size in bytes of `tokens` rows in every list of all layers, including
  /// numbers_per_row. Each list is rounded up to whole pages.
  size_t bytes_for(int64_t tokens) const;
  /// Returns the same size for one list of a layer.
  size_t list_bytes_for(int layer, int64_t tokens) const;
  /// Returns whether both layouts have the same lists and the same format of pages. numbers_per_row
  /// may differ.
  bool same_rows(const KvLayout& other) const;
};

}  // namespace longhaul
