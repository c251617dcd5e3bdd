#pragma once
// Reads a file with XAttention's threshold of every head.

#include <filesystem>
#include <vector>

namespace longhaul {

/// XAttention's share of the scores, [layer][query head], from 0 to 1 (arXiv:2503.16428). A file
/// has this form:
///
///   {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
///
/// There is one table per stride, and the name of the table ends with the stride. read_thresholds()
/// throws UserError (attention/parts/head_files.h).
using HeadThresholds = std::vector<std::vector<double>>;
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

}  // namespace longhaul
