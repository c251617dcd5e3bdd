#pragma once
// Files that options name, with something for every layer and head. What reads them throws
// UserError that names the option, the file, the place in it and what was found there instead: no
// such value, or another number of layers or heads than the model's.

#include <filesystem>
#include <span>
#include <vector>

#include "base/archive.h"
#include "ops/gated_heads.h"
#include "ops/head_pattern.h"

namespace longhaul {

/// Duo's gates: a TSV with a row per layer and a column per KV head.
HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads);

/// XAttention's share of the scores, [layer][query head] within [0, 1] (arXiv:2503.16428):
///   {"thresholds": {"llama_fuse_8": [[layer 0's heads], ...], ...}}
/// with one table for every stride, which ends its name.
using HeadThresholds = std::vector<std::vector<double>>;
HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads);

/// MInference's patterns, [layer][query head], as its authors' files hold them: a list of layers,
/// each {"head": [kind, vertical, slash, score], ...} (arXiv:2407.02490).
using HeadPatterns = std::vector<std::vector<HeadPattern>>;
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// UserError, also where it could not be written at all, for the second.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// To and from a session file, without the scores; `patterns` has the model's shape.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
