#pragma once
// Reads and writes files with MInference's sparse pattern of every query head (head_pattern.h).

#include <filesystem>
#include <vector>

#include "attention/methods/minference/head_pattern.h"
#include "base/archive.h"

namespace longhaul {

/// Patterns, [layer][query head]. read_patterns() throws UserError if the file is invalid or does
/// not fit the numbers of layers and heads. The file has the format of MInference's authors
/// (arXiv:2407.02490): an array of layers, each of which is an object {"HEAD": [kind, vertical,
/// slash, score], ...}.
using HeadPatterns = std::vector<std::vector<HeadPattern>>;
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// write_patterns() writes such a file. check_writable() only tests whether the file can be
/// written. Both throw UserError on failure.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// Saves the patterns to a session file or restores them from one, without HeadPattern::score.
/// `patterns` must already have the model's numbers of layers and heads.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
