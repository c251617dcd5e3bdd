#pragma once
// Creates tables of the recall by layer (Record::recall). The answer to a question occurs in the
// context of the prompt. The recall is the share of the answer's tokens in the context to which the
// tokens of the reply could attend.

#include <cstdint>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Sentence that explains the recall to readers, at the beginning of the section.
inline constexpr const char* kRecallReading =
    "So you see whether the method had dropped the answer or had it in view somewhere; which heads "
    "have it matters too.";

/// The recall of a method at a length, averaged over the answers of all tasks.
struct Recall {
  size_t series = 0;
  int64_t answers = 0;         ///< number of records that contain recall
  std::vector<double> layers;  ///< mean recall per layer, from 0 to 1
  /// `right` is the number of right answers that have a Record::source_rank. `first` is the number
  /// of those whose source_rank is 1.
  int64_t right = 0, first = 0;
};

struct RecallTable {
  int64_t length = 0;
  size_t layers = 0;     ///< largest number of layers of all models
  bool sources = false;  ///< whether some record has a Record::source_rank
  std::vector<Recall> rows;
};

/// Returns one table per length, in ascending order of lengths. Methods without recall in their
/// records are omitted.
std::vector<RecallTable> recall_tables(const Results& results);

}  // namespace longhaul
