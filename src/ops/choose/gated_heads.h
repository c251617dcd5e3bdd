#pragma once
// Which KV heads keep everything: from trained gates to two kinds of heads (DuoAttention,
// arXiv:2410.10819, 2.3).

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// One gate per (layer, KV head), within [0, 1].
using HeadGates = std::vector<std::vector<double>>;
/// Per layer and KV head: 1 keeps everything (a retrieval head), 0 streams.
using FullHeads = std::vector<std::vector<uint8_t>>;

/// All but a `sparsity` share of the heads of the whole model, those with the highest gates: as
/// many as lie at or above the linear quantile of distinct gates. Equal gates: the lower layer
/// first, then the lower head. 0: all heads, 1: none.
FullHeads full_by_sparsity(const HeadGates& gates, double sparsity);

/// Heads whose gate is at least `threshold`.
FullHeads full_by_threshold(const HeadGates& gates, double threshold);

/// Every head of one kind.
FullHeads all_heads(std::span<const int> kv_heads, bool full);

}  // namespace longhaul
