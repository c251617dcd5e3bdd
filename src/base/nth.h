#pragma once
// Vectors and spans are indexed by size_t, while layers, heads and rows are counted in signed
// integers, and tables have an entry for each value of an enum: nth(v, i) is v[i] for these.

#include <cstddef>

namespace longhaul {

template <class List, class Index>
decltype(auto) nth(List&& list, Index index) {
  return list[static_cast<size_t>(index)];
}

}  // namespace longhaul
