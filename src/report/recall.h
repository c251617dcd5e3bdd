#pragma once
// Visibility of the answers to the rows that generated the replies, by layer (Record::recall).

#include <cstdint>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Explanation of the shares, for the section's introduction.
inline constexpr const char* kRecallReading =
    "So you see whether the method had dropped the answer or had it in view somewhere; which heads "
    "have it matters too.";

/// A method at a length, over all tasks.
struct Recall {
  size_t series = 0;
  int64_t answers = 0;         ///< records that contain recall
  std::vector<double> layers;  ///< means, 0..1
  /// Among `right` answers whose source was searched, those whose passage was ranked first.
  int64_t right = 0, first = 0;
};

struct RecallTable {
  int64_t length = 0;
  size_t layers = 0;     ///< largest number over all models
  bool sources = false;  ///< some row has them
  std::vector<Recall> rows;
};

/// Lengths ascending; methods without recall in their records are omitted.
std::vector<RecallTable> recall_tables(const Results& results);

}  // namespace longhaul
