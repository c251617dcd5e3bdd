#pragma once
// Rows of the KV store in device memory (kv/kv_store.h): new rows are appended to lists, and kept
// rows are moved together.

#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Rows of one sequence to append to every list of a layer. KV head h writes to lists
/// [h * lists / kv_heads, (h + 1) * lists / kv_heads).
struct DeviceAppend {
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
  int64_t rows = 0;
  int kv_heads = 0;
  std::span<const PagedRows> lists;      ///< including pages for the new rows
  std::span<const int64_t> first;        ///< per list: index of the first new row
  const Rotations* rotations = nullptr;  ///< null: keys are not rotated
  int64_t position = 0;  ///< rotation position of row 0; each later row is one further
  /// Queries [rows, heads, head_dim] to rotate like the keys; may be empty.
  View<const float> q;
  View<float> rotated_q;
};

/// Appends the rows of several sequences in one launch. All lists are stored in the same way.
inline const DeviceOperation<bool(std::span<const DeviceAppend>)> kAppendRows;

/// Copies row rows[i] of `from` to row i of `to`, which has other pages. Rows are ascending.
struct KeptRows {
  PagedRows from;
  View<const int32_t> rows;
  PagedRows to;
};

/// Copies 4-byte values: value i of `to` becomes value rows[i] of the `listed` values at `from`, or
/// rows[i] + behind past their end. Rows are ascending. `to` may equal `from`; listed values after
/// the kept ones then become zeros.
struct KeptNumbers {
  View<const int32_t> rows;
  const void* from = nullptr;
  void* to = nullptr;
  int64_t listed = 0, behind = 0;
};

inline const DeviceOperation<bool(std::span<const KeptRows>, std::span<const KeptNumbers>)>
    kKeepRows;

}  // namespace longhaul
