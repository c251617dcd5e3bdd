#pragma once
// Reads and writes files that options name and that hold a value for every layer and head. The
// readers throw UserError. The message names the option, the file, the place in the file and the
// problem. A problem is an invalid value, or a number of layers or heads that differs from that of
// the model.

#include <filesystem>
#include <span>
#include <vector>

#include "base/archive.h"
#include "ops/choose/gated_heads.h"
#include "ops/choose/head_pattern.h"

namespace longhaul {

/// Reads the gates of Duo: a TSV file with a row per layer and a column per KV head. Gates are
/// limited to 0 to 1.
HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads);

/// Reads the thresholds of XAttention, [layer][query head] (arXiv:2503.16428). A threshold is the
/// share of a row's attention scores that the selected blocks must reach, from 0 to 1. The file has
/// the form
/// {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
/// There is one table for each stride. The name of a table ends with its stride.
using HeadThresholds = std::vector<std::vector<double>>;
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

/// Reads the patterns of MInference, [layer][query head], in the file format of its authors: a list
/// with one element per layer, each {"head": [kind, vertical, slash, score], ...}
/// (arXiv:2407.02490).
using HeadPatterns = std::vector<std::vector<HeadPattern>>;
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// write_patterns() writes the file. check_writable() only checks that the file can be written.
/// Both throw UserError on failure.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// Writes the patterns to a session file or reads them from one. The scores are not included.
/// `patterns` must have the numbers of layers and heads of the model.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
