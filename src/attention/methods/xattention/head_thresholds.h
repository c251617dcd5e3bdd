#pragma once
// The thresholds of XAttention for every head, from a file.

#include <filesystem>
#include <vector>

namespace longhaul {

/// XAttention's share of the scores, [layer][query head] within [0, 1] (arXiv:2503.16428):
///   {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
/// There is one table for each stride, and the table's name ends with the stride. The reader throws
/// UserError (attention/parts/head_files.h).
using HeadThresholds = std::vector<std::vector<double>>;
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

}  // namespace longhaul
