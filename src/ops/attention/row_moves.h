#pragma once
// Device operations on the stored rows of the KV store (kv/kv_store.h). They append new rows to
// lists, and reduce lists to the rows that are kept. A list is the stored rows (keys and values) of
// one KV head in one layer.

#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// New rows of one sequence, which are appended to the n lists of a layer. Several lists may belong
/// to a KV head: the rows of KV head h are appended to lists [h * n / kv_heads,
/// (h + 1) * n / kv_heads).
struct DeviceAppend {
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
  int64_t rows = 0;
  int kv_heads = 0;
  /// The lists to which the rows are appended. The pages for the new rows already exist.
  std::span<const PagedRows> lists;
  std::span<const int64_t> first;        ///< per list: the row number that its first new row gets
  const Rotations* rotations = nullptr;  ///< null: keys are stored without RoPE
  int64_t position = 0;  ///< position of row 0 for RoPE; row r has position `position` + r
  /// Queries [rows, heads, head_dim], which are rotated like the keys and written to rotated_q. `q`
  /// and rotated_q may be empty.
  View<const float> q;
  View<float> rotated_q;
  bool raw_keys = false;  ///< whether only the queries are rotated
};

/// Appends the rows of several sequences in one launch. All lists must store rows in the same
/// format.
inline const DeviceOperation<bool(std::span<const DeviceAppend>)> kAppendRows;

/// Copies stored row rows[i] of `from` to row i of `to`, for all i. `rows` is ascending. The two
/// lists either have no page in common or are the same list.
struct KeptRows {
  PagedRows from;
  View<const int32_t> rows;
  PagedRows to;
};

/// Copies 4-byte metadata of rows: entry i of `to` becomes entry rows[i] of `from`, for all i.
/// `rows` is ascending. `from` has `listed` stored entries. Entries beyond these are not stored:
/// entry r has the value r + behind. `to` may equal `from`. In that case, the stored entries after
/// the kept ones become zeros.
struct KeptNumbers {
  View<const int32_t> rows;
  const void* from = nullptr;
  void* to = nullptr;
  int64_t listed = 0, behind = 0;
};

inline const DeviceOperation<bool(std::span<const KeptRows>, std::span<const KeptNumbers>)>
    kKeepRows;

}  // namespace longhaul
