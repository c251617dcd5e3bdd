#include "kv/kv_layout.h"

#include <numeric>

namespace longhaul {

int KvLayout::all_heads() const { return std::accumulate(heads.begin(), heads.end(), 0); }

size_t KvLayout::bytes_for(int64_t tokens) const {
  const size_t numbers = static_cast<size_t>(page_rows) * static_cast<size_t>(numbers_per_row);
  const size_t page = page_bytes() + numbers * sizeof(float);
  return static_cast<size_t>(all_heads()) * static_cast<size_t>(pages_for(tokens)) * page;
}

bool KvLayout::same_rows(const KvLayout& other) const {
  return heads == other.heads && head_dim == other.head_dim && type == other.type &&
         page_rows == other.page_rows;
}

}  // namespace longhaul
