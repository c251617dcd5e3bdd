#pragma once
// Chooses the keys that represent a block in InfLLM's searches (Xiao et al. 2024, section 3.2). For
// each query head, they are the keys of the tokens that received most attention from the head.

#include <span>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

struct RepresentativesCall {
  std::span<const PagedRows> lists;  ///< per KV head: the stored rows, in memory
  int64_t first = 0;                 ///< row of the first block's first token
  View<const float> votes;           ///< [blocks, tokens of a block, heads]: received attention
  int heads = 0;                     ///< number of query heads; contiguous groups share a list
  int64_t count = 1;                 ///< number of tokens that each head chooses
  bool mean = true;    ///< whether the keys of the chosen tokens are averaged to one vector
  int64_t blocks = 1;  ///< number of consecutive blocks of equal length

  bool lies_on(Place place) const { return votes.place() == place; }
};

/// Buffers that are reused between calls.
struct RepresentativesMemory {
  Array<float> votes, key;
  RowSelection chosen;
};

/// Writes the keys to out [blocks, heads, count, head_dim], with tokens in ascending order. If
/// `mean` is true, writes their means to out [blocks, heads, head_dim].
void block_representatives(Queue& queue, const RepresentativesCall& call,
                           RepresentativesMemory& memory, View<float> out);
inline const DeviceOperation<bool(const RepresentativesCall&, View<float> out)>
    kBlockRepresentatives;

}  // namespace longhaul
