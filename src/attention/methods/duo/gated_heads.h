#pragma once
// Selects the KV heads that keep all keys (retrieval heads) by trained gates (DuoAttention,
// arXiv:2410.10819, section 2.3). All other KV heads keep only the first and the last keys
// (streaming heads). A gate is a number from 0 to 1; retrieval heads have high gates.

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace longhaul {

/// Gates, [layer][KV head].
using HeadGates = std::vector<std::vector<double>>;
/// Reads gates from a TSV file with one row per layer and one column per KV head. Throws UserError
/// if the file is invalid or does not fit kv_heads, the numbers of KV heads per layer.
HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads);

/// Flags, [layer][KV head]: 1 for retrieval heads and 0 for streaming heads.
using FullHeads = std::vector<std::vector<uint8_t>>;

/// Selects retrieval heads: all heads of the model except the fraction `sparsity` with the lowest
/// gates. The number of selected heads is the number of gates at or above the linearly interpolated
/// quantile `sparsity`, computed as if all gates were distinct. If gates are equal, heads of lower
/// layers are selected first, and within a layer heads with lower indices. Sparsity 0 selects all
/// heads, and 1 selects none.
FullHeads full_by_sparsity(const HeadGates& gates, double sparsity);

/// Selects the heads whose gate is at least `threshold`.
FullHeads full_by_threshold(const HeadGates& gates, double threshold);

/// Returns flags that are 1 for all heads if `full` is true, and 0 otherwise.
FullHeads all_heads(std::span<const int> kv_heads, bool full);

}  // namespace longhaul
