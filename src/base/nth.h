#pragma once
// Vectors and spans are indexed by size_t. Layers, heads and rows are counted in signed integers,
// and some tables are indexed by enum values. nth(v, i) is v[i] for such indices.

#include <cstddef>

namespace longhaul {

template <class List, class Index>
decltype(auto) nth(List&& list, Index index) {
  return list[static_cast<size_t>(index)];
}

}  // namespace longhaul
