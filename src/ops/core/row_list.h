#pragma once
// Row numbers that an operation has chosen.

#include "base/host_stage.h"

namespace longhaul {

/// Ascending, each once. How many there are may be known only where they are: then `count` holds
/// one number, and `rows` has room for the most there can be.
struct RowList {
  View<const int32_t> rows;
  View<const int32_t> count;  ///< empty: all of `rows`

  int64_t most() const { return rows.size(); }
};

/// The rows of a list in host memory.
inline std::span<const int32_t> host_rows(const RowList& list) {
  const std::span<const int32_t> rows = host(list.rows);
  return list.count.empty() ? rows : rows.first(static_cast<size_t>(host(list.count)[0]));
}

/// A list wherever it is, for the host to read.
inline RowList on_host(HostStage& stage, const RowList& list) {
  return {stage(list.rows), stage(list.count)};
}

}  // namespace longhaul
