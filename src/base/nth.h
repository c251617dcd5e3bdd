#pragma once
// Defines nth(v, i), which is v[i] for a signed or enum index. Vectors and spans are indexed by
// size_t, but layers, heads and rows are counted in signed integers, and some tables are indexed by
// enum values.

#include <cstddef>

namespace longhaul {

template <class List, class Index>
decltype(auto) nth(List&& list, Index index) {
  return list[static_cast<size_t>(index)];
}

}  // namespace longhaul
