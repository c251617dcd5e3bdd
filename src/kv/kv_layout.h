#pragma once
// Layout of a KV store: heads per layer, row format, page size.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/attention/kv_type.h"

namespace longhaul {

/// Format of the rows of a list.
struct RowForm {
  int head_dim = 0;
  KvType type;         ///< includes head_dim
  int page_rows = 64;  ///< tokens in a page; a power of two
  bool values_in_keys = false;

  size_t key_bytes() const { return bytes_of(type.k, head_dim); }  ///< bytes per row
  size_t value_bytes() const { return values_in_keys ? 0 : bytes_of(type.v, head_dim); }
  size_t row_bytes() const { return key_bytes() + value_bytes(); }
  size_t page_bytes() const { return static_cast<size_t>(page_rows) * row_bytes(); }
  /// Offset of a page's values, which follow its keys.
  size_t values_at() const {
    return values_in_keys ? 0 : static_cast<size_t>(page_rows) * key_bytes();
  }
  bool operator==(const RowForm&) const = default;
};

struct KvLayout {
  std::vector<int> heads;  ///< per layer: KV heads, or the lists that a method stores instead
  int head_dim = 0;        ///< largest of all layers
  KvType type;             ///< includes head_dim
  int page_rows = 64;      ///< tokens in a page; a power of two
  /// Most 4-byte values stored with each row: one for its token if earlier rows were evicted, and
  /// one for every column (KvStore::column).
  int numbers_per_row = 0;
  std::vector<int> head_dims = {};  ///< per layer; empty: head_dim in all layers
  /// A row's value is its key, which is stored once (multi-head latent attention).
  bool values_in_keys = false;

  int layers() const { return static_cast<int>(heads.size()); }
  int all_heads() const;
  int lists(int layer) const { return heads[static_cast<size_t>(layer)]; }  ///< lists in a layer
  int dim_of(int layer) const {
    return head_dims.empty() ? head_dim : head_dims[static_cast<size_t>(layer)];
  }
  RowForm form_of(int layer) const { return {dim_of(layer), type, page_rows, values_in_keys}; }
  RowForm largest_form() const { return {head_dim, type, page_rows, values_in_keys}; }
  size_t row_bytes() const { return largest_form().row_bytes(); }    ///< largest row
  size_t page_bytes() const { return largest_form().page_bytes(); }  ///< largest page
  int64_t pages_for(int64_t rows) const { return (rows + page_rows - 1) / page_rows; }
  /// rounded up to whole pages
  int64_t room_for(int64_t rows) const { return pages_for(rows) * page_rows; }
  /// Bytes of `tokens` tokens in all layers and heads, in whole pages, with the values stored per
  /// row.
  size_t bytes_for(int64_t tokens) const;
  /// Bytes of `tokens` tokens in one list of a layer.
  size_t list_bytes_for(int layer, int64_t tokens) const;
  /// Whether pages of both layouts have the same format.
  bool same_rows(const KvLayout& other) const;
};

}  // namespace longhaul
