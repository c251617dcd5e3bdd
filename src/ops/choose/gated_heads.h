#pragma once
// Derivation of the KV heads that keep everything from trained gates (DuoAttention,
// arXiv:2410.10819, 2.3).

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// One gate per (layer, KV head), within [0, 1].
using HeadGates = std::vector<std::vector<double>>;
/// Per layer and KV head: 1 keeps everything (a retrieval head), 0 streams.
using FullHeads = std::vector<std::vector<uint8_t>>;

/// Selects all heads of the model except a share `sparsity` of those with the lowest gates: as many
/// as lie at or above the linear quantile of distinct gates. Among equal gates the lower layer
/// comes first, then the lower head. 0: all heads, 1: none.
FullHeads full_by_sparsity(const HeadGates& gates, double sparsity);

/// Selects heads with a gate of at least `threshold`.
FullHeads full_by_threshold(const HeadGates& gates, double threshold);

/// All heads of one kind.
FullHeads all_heads(std::span<const int> kv_heads, bool full);

}  // namespace longhaul
