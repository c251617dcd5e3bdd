#include "kv/kv_layout.h"

#include <numeric>

namespace longhaul {

int KvLayout::all_heads() const { return std::accumulate(heads.begin(), heads.end(), 0); }

size_t KvLayout::list_bytes_for(int layer, int64_t tokens) const {
  const size_t numbers = static_cast<size_t>(page_rows) * static_cast<size_t>(numbers_per_row);
  const size_t page = form_of(layer).page_bytes() + numbers * sizeof(float);
  return static_cast<size_t>(pages_for(tokens)) * page;
}

size_t KvLayout::bytes_for(int64_t tokens) const {
  size_t bytes = 0;
  for (int layer = 0; layer < layers(); ++layer) {
    bytes += static_cast<size_t>(lists(layer)) * list_bytes_for(layer, tokens);
  }
  return bytes;
}

bool KvLayout::same_rows(const KvLayout& other) const {
  return heads == other.heads && head_dim == other.head_dim && head_dims == other.head_dims &&
         type == other.type && page_rows == other.page_rows &&
         values_in_keys == other.values_in_keys;
}

}  // namespace longhaul
