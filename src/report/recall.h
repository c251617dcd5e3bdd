#pragma once
// What the rows that chose the replies could see of the answers, by layer (Record::recall).

#include <cstdint>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// What the shares tell, for the section's introduction.
inline constexpr const char* kRecallReading =
    "So you see whether the method had dropped the answer or had it in view somewhere; which heads "
    "have it matters too.";

/// A method at a length, over all tasks.
struct Recall {
  size_t series = 0;
  int64_t answers = 0;         ///< records that tell it
  std::vector<double> layers;  ///< means, 0..1
  /// Of `right` answers whose source was looked for, those whose passage stood first.
  int64_t right = 0, first = 0;
};

struct RecallTable {
  int64_t length = 0;
  size_t layers = 0;     ///< of the model with most
  bool sources = false;  ///< some row tells of them
  std::vector<Recall> rows;
};

/// Lengths ascending; methods whose records say nothing are left out.
std::vector<RecallTable> recall_tables(const Results& results);

}  // namespace longhaul
