#pragma once
// Reads a file with XAttention's threshold of every query head.

#include <filesystem>
#include <vector>

namespace longhaul {

/// Thresholds, [layer][query head], from 0 to 1: the share of a tile's scores that the selected key
/// blocks must hold (arXiv:2503.16428). A file has this form:
///
///   {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
///
/// The object has one table per stride (the size of a group of rows), and the name of a table ends
/// with its stride. read_thresholds() throws UserError if the file is invalid, has no table for
/// `stride`, or does not fit the numbers of layers and heads.
using HeadThresholds = std::vector<std::vector<double>>;
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

}  // namespace longhaul
