#pragma once
// Device operations on the rows of the KV store (kv/kv_store.h). They append new rows to lists and
// compact the rows that are kept.

#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// New rows of one sequence, to be appended to every list of a layer. Lists [h * n / kv_heads, (h +
/// 1) * n / kv_heads) of all n lists receive the rows of KV head h.
struct DeviceAppend {
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
  int64_t rows = 0;
  int kv_heads = 0;
  /// Destination lists, which already have pages for the new rows.
  std::span<const PagedRows> lists;
  std::span<const int64_t> first;        ///< per list: index of its first new row
  const Rotations* rotations = nullptr;  ///< null: keys are not rotated
  int64_t position = 0;  ///< position of row 0 for the rotation; row r has position `position` + r
  /// Queries [rows, heads, head_dim], which are rotated like the keys and written to rotated_q. `q`
  /// and rotated_q may be empty.
  View<const float> q;
  View<float> rotated_q;
  bool raw_keys = false;  ///< whether only the queries are rotated
};

/// Appends the rows of several sequences in one launch. All lists have the same storage form.
inline const DeviceOperation<bool(std::span<const DeviceAppend>)> kAppendRows;

/// A copy of row rows[i] of `from` to row i of `to`, for all i. The two lists have different pages,
/// or are the same list. Row numbers are ascending.
struct KeptRows {
  PagedRows from;
  View<const int32_t> rows;
  PagedRows to;
};

/// A copy of 4-byte values: value i of `to` becomes value rows[i] of `from`, for all i. `from` has
/// `listed` stored values. Value r beyond them is implicitly r + behind. Row numbers are ascending.
/// `to` may equal `from`. In that case, the stored values after the kept ones become zeros.
struct KeptNumbers {
  View<const int32_t> rows;
  const void* from = nullptr;
  void* to = nullptr;
  int64_t listed = 0, behind = 0;
};

inline const DeviceOperation<bool(std::span<const KeptRows>, std::span<const KeptNumbers>)>
    kKeepRows;

}  // namespace longhaul
