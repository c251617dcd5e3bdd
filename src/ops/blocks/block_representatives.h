#pragma once
// Chooses the keys that represent a block in InfLLM's look-ups (Xiao et al. 2024, 3.2). For each
// query head these are the keys of the tokens that received most attention from the head.

#include <span>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

struct RepresentativesCall {
  std::span<const PagedRows> lists;  ///< per KV head: its rows, in memory
  int64_t first = 0;                 ///< row of the first block's first token
  View<const float> votes;           ///< [blocks, tokens of a block, heads]
  int heads = 0;                     ///< query heads, assigned to the lists in contiguous groups
  int64_t count = 1;                 ///< tokens chosen by each head
  bool mean = true;                  ///< average their keys into one vector
  int64_t blocks = 1;                ///< number of consecutive blocks of equal length

  bool lies_on(Place place) const { return votes.place() == place; }
};

/// Memory of a call, reused from call to call.
struct RepresentativesMemory {
  Array<float> votes, key;
  RowSelection chosen;
};

/// Writes out [blocks, heads, count, head_dim], or [blocks, heads, head_dim] with means. Tokens are
/// in ascending order.
void block_representatives(Queue& queue, const RepresentativesCall& call,
                           RepresentativesMemory& memory, View<float> out);
inline const DeviceOperation<bool(const RepresentativesCall&, View<float> out)>
    kBlockRepresentatives;

}  // namespace longhaul
