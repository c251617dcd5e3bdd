#pragma once
// Files named by options, with a value for every layer and head. The readers throw UserError with
// the option, the file, the place in it and the problem: an invalid value, or a number of layers or
// heads that differs from the model's.

#include <filesystem>
#include <span>
#include <vector>

#include "base/archive.h"
#include "ops/choose/gated_heads.h"
#include "ops/choose/head_pattern.h"

namespace longhaul {

/// Duo's gates: a TSV with a row per layer and a column per KV head.
HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads);

/// XAttention's share of the scores, [layer][query head] within [0, 1] (arXiv:2503.16428):
///   {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
/// There is one table for each stride, and the table's name ends with the stride.
using HeadThresholds = std::vector<std::vector<double>>;
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

/// MInference's patterns, [layer][query head], in the file format of its authors: a list of layers,
/// each {"head": [kind, vertical, slash, score], ...} (arXiv:2407.02490).
using HeadPatterns = std::vector<std::vector<HeadPattern>>;
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// Both throw UserError on failure. check_writable() only tests whether the file can be written.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// Writes to or reads from a session file, without the scores. `patterns` has the model's shape.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
