#pragma once
// Selects the KV heads that keep all keys, by trained gates (DuoAttention, arXiv:2410.10819,
// section 2.3).

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace longhaul {

/// One gate per layer and KV head, from 0 to 1.
using HeadGates = std::vector<std::vector<double>>;
/// Reads a TSV with a row per layer and a column per KV head. Throws UserError
/// (attention/parts/head_files.h).
HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads);

/// One flag per layer and KV head. 1 means that the head keeps all keys (a retrieval head). 0 means
/// that it keeps only the first and the last keys (a streaming head).
using FullHeads = std::vector<std::vector<uint8_t>>;

/// Selects all heads of the model except the share `sparsity` with the lowest gates. The number of
/// selected heads is the number of gates at or above the linearly interpolated quantile `sparsity`.
/// The quantile is computed as if all gates were distinct. If gates are equal, heads of the lower
/// layer are selected first, and within a layer heads with the lower index. Sparsity 0 selects all
/// heads, and 1 selects none.
FullHeads full_by_sparsity(const HeadGates& gates, double sparsity);

/// Selects heads with a gate of at least `threshold`.
FullHeads full_by_threshold(const HeadGates& gates, double threshold);

/// Returns flags with the value `full` for all heads.
FullHeads all_heads(std::span<const int> kv_heads, bool full);

}  // namespace longhaul
