#pragma once
// Reads and writes files with MInference's pattern of every head. Readers throw UserError
// (attention/parts/head_files.h).

#include <filesystem>
#include <vector>

#include "attention/methods/minference/head_pattern.h"
#include "base/archive.h"

namespace longhaul {

/// The patterns, [layer][query head]. The file has the format of MInference's authors: a list of
/// layers, each of which is {"head": [kind, vertical, slash, score], ...} (arXiv:2407.02490).
using HeadPatterns = std::vector<std::vector<HeadPattern>>;
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// Both functions throw UserError on failure. check_writable() only tests whether the file can be
/// written.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// Saves the patterns to a session file or restores them from one. Scores are omitted. `patterns`
/// must have the shape of the model.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
