#pragma once
// The patterns of MInference for every head, in files. Readers throw UserError
// (attention/parts/head_files.h).

#include <filesystem>
#include <vector>

#include "attention/methods/minference/head_pattern.h"
#include "base/archive.h"

namespace longhaul {

/// [layer][query head], in the file format of its authors: a list of layers, each
/// {"head": [kind, vertical, slash, score], ...} (arXiv:2407.02490).
using HeadPatterns = std::vector<std::vector<HeadPattern>>;
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// Both throw UserError on failure. check_writable() only tests whether the file can be written.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// Writes to or reads from a session file, without the scores. `patterns` has the model's shape.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
