#pragma once
// MInference's sparse pattern of every query head, as its authors' files hold them: a list of
// layers, each {"head": [kind, vertical, slash, score], ...} (arXiv:2407.02490).

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

class Archive;

enum class PatternKind : uint8_t { kAShape, kVerticalSlash, kBlocks };

struct HeadPattern {
  PatternKind kind = PatternKind::kVerticalSlash;
  int64_t vertical = 1000;  ///< columns; kAShape: sinks; kBlocks: key blocks of a row block
  int64_t slash = 6096;     ///< diagonals; kAShape: window
  double score = 0;         ///< share of the attention that it caught in the search

  static constexpr int64_t kMost = 1 << 24;
  bool in_range() const {
    return vertical >= 0 && vertical <= kMost && slash >= 0 && slash <= kMost &&
           (kind != PatternKind::kAShape || slash > 0);
  }
};

/// [layer][query head]
using HeadPatterns = std::vector<std::vector<HeadPattern>>;

/// Throws UserError naming the option, the file, the layer and the head, and what was found there:
/// another number of layers or heads than the model's, an unknown kind, a number out of range.
HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads);

/// UserError, also where it could not be written at all, for the second.
void write_patterns(const std::filesystem::path& file, const HeadPatterns& patterns);
void check_writable(const std::filesystem::path& file);

/// To and from a session file, without the scores; `patterns` has the model's shape.
void archive_patterns(Archive& archive, HeadPatterns& patterns);

}  // namespace longhaul
