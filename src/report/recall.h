#pragma once
// Tables of the recall by layer (Record::recall): the share of an answer's tokens that were visible
// to the rows that generated the reply.

#include <cstdint>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Explanation of the shares, for the introduction of the section.
inline constexpr const char* kRecallReading =
    "So you see whether the method had dropped the answer or had it in view somewhere; which heads "
    "have it matters too.";

/// Recall of a method at a length, over all tasks.
struct Recall {
  size_t series = 0;
  int64_t answers = 0;         ///< number of records that contain recall
  std::vector<double> layers;  ///< mean recall per layer, from 0 to 1
  /// `right` is the number of right answers for which sources were ranked. `first` is the number of
  /// those in which the passage with the answer was ranked first.
  int64_t right = 0, first = 0;
};

struct RecallTable {
  int64_t length = 0;
  size_t layers = 0;     ///< largest number of layers of all models
  bool sources = false;  ///< whether some row has ranks of sources
  std::vector<Recall> rows;
};

/// Returns one table per length, in ascending order of lengths. Methods without recall in their
/// records are omitted.
std::vector<RecallTable> recall_tables(const Results& results);

}  // namespace longhaul
