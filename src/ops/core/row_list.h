#pragma once
// Row numbers selected by an operation.

#include "base/host_stage.h"

namespace longhaul {

/// Row numbers in ascending order, without duplicates. Their number may be known only on the
/// device. In that case `count` holds one number, and `rows` has room for the largest possible
/// count.
struct RowList {
  View<const int32_t> rows;
  View<const int32_t> count;  ///< empty: all of `rows` are valid

  int64_t most() const { return rows.size(); }
};

/// Returns the rows of a list in host memory.
inline std::span<const int32_t> host_rows(const RowList& list) {
  const std::span<const int32_t> rows = host(list.rows);
  return list.count.empty() ? rows : rows.first(static_cast<size_t>(host(list.count)[0]));
}

/// Returns a copy of the list that the host can read.
inline RowList on_host(HostStage& stage, const RowList& list) {
  return {stage(list.rows), stage(list.count)};
}

}  // namespace longhaul
