#pragma once
// Selects the vectors that represent blocks of tokens in InfLLM's searches (Xiao et al. 2024,
// arXiv:2402.04617, section 3.2). For each query head, these are the keys of the tokens of the
// block that received most attention from the head.

#include <span>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

struct RepresentativesCall {
  std::span<const PagedRows> lists;  ///< per KV head: its stored rows
  int64_t first = 0;                 ///< stored row of the first token of the first block
  View<const float> votes;  ///< [blocks, tokens, heads]: attention that each token received
  int heads = 0;            ///< number of query heads; contiguous groups share a list
  int64_t count = 1;        ///< number of tokens that are selected per head and block
  bool mean = true;         ///< whether the keys of the selected tokens are averaged
  int64_t blocks = 1;       ///< number of consecutive blocks of equal length

  bool lies_on(Place place) const { return votes.place() == place; }
};

/// Buffers that are reused between calls.
struct RepresentativesMemory {
  Array<float> votes, key;
  RowSelection chosen;
};

/// Writes the keys of the selected tokens to out [blocks, heads, count, head_dim], with tokens in
/// ascending order. If `mean` is true, writes the mean of these keys to out [blocks, heads,
/// head_dim].
void block_representatives(Queue& queue, const RepresentativesCall& call,
                           RepresentativesMemory& memory, View<float> out);
inline const DeviceOperation<bool(const RepresentativesCall&, View<float> out)>
    kBlockRepresentatives;

}  // namespace longhaul
