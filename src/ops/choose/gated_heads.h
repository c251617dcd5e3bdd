#pragma once
// Selects the KV heads that keep all keys by trained gates (DuoAttention, arXiv:2410.10819, 2.3).

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// One gate per (layer, KV head), within [0, 1].
using HeadGates = std::vector<std::vector<double>>;
/// Per layer and KV head: 1 keeps everything (a retrieval head), 0 streams.
using FullHeads = std::vector<std::vector<uint8_t>>;

/// Selects all heads of the model except the share `sparsity` with the lowest gates. The number of
/// selected heads is the number of heads at or above the linear quantile of distinct gates. Among
/// equal gates the lower layer comes first, then the lower head. A sparsity of 0 selects all heads,
/// 1 selects none.
FullHeads full_by_sparsity(const HeadGates& gates, double sparsity);

/// Selects heads with a gate of at least `threshold`.
FullHeads full_by_threshold(const HeadGates& gates, double threshold);

/// All heads of one kind.
FullHeads all_heads(std::span<const int> kv_heads, bool full);

}  // namespace longhaul
