#pragma once
// A list of row numbers that an operation has selected.

#include "base/host_stage.h"

namespace longhaul {

/// Row numbers in ascending order, without duplicates. If an operation on a device determines how
/// many there are, that number may be unknown on the host. `count` then holds it on the device, and
/// `rows` has the largest possible size.
struct RowList {
  View<const int32_t> rows;
  View<const int32_t> count;  ///< one element: how many of `rows` are valid; empty if all are valid

  int64_t most() const { return rows.size(); }
};

/// Returns the rows of a list in host memory.
inline std::span<const int32_t> host_rows(const RowList& list) {
  const std::span<const int32_t> rows = host(list.rows);
  return list.count.empty() ? rows : rows.first(static_cast<size_t>(host(list.count)[0]));
}

/// Returns the list with its arrays in host memory.
inline RowList on_host(HostStage& stage, const RowList& list) {
  return {stage(list.rows), stage(list.count)};
}

}  // namespace longhaul
