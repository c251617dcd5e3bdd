#pragma once
// XAttention's share of the scores, calibrated for every query head (arXiv:2503.16428):
//   {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
// with one table for every stride, which ends its name.

#include <filesystem>
#include <vector>

namespace longhaul {

/// [layer][query head], within [0, 1]
using HeadThresholds = std::vector<std::vector<double>>;

/// Throws UserError naming the option, the file, the table and what was found instead: no table for
/// the stride, another number of layers or heads than the model's, no number from 0 to 1.
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

}  // namespace longhaul
