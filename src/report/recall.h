#pragma once
// Tables of the recall by layer (Record::recall), which is the share of an answer's tokens that
// were visible to the rows that generated the reply.

#include <cstdint>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Explanation of the shares, for the section's introduction.
inline constexpr const char* kRecallReading =
    "So you see whether the method had dropped the answer or had it in view somewhere; which heads "
    "have it matters too.";

/// Recall of a method at a length, over all tasks.
struct Recall {
  size_t series = 0;
  int64_t answers = 0;         ///< records that contain recall
  std::vector<double> layers;  ///< means, 0..1
  /// right: number of right answers whose source was searched. first: how many of them have the
  /// answer's passage ranked first.
  int64_t right = 0, first = 0;
};

struct RecallTable {
  int64_t length = 0;
  size_t layers = 0;     ///< largest number over all models
  bool sources = false;  ///< some row has source ranks
  std::vector<Recall> rows;
};

/// Returns the tables in order of ascending length. Methods without recall in their records are
/// omitted.
std::vector<RecallTable> recall_tables(const Results& results);

}  // namespace longhaul
