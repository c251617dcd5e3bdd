#pragma once
// How well the attention on the first passage separates right replies from wrong ones
// (Record::source_share).

#include <cstdint>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Replies of one method over all tasks and lengths. A reply whose first passage has a smaller
/// share than `least_share` gets a warning.
struct UnfoundedReplies {
  size_t series = 0;
  int64_t right = 0, wrong = 0;  ///< a score of at least 0.5 is right
  double least_share = 0;        ///< keeps most right replies and finds most wrong ones
  int64_t found = 0;             ///< wrong replies with a warning
  int64_t false_alarms = 0;      ///< right replies with a warning

  double precision() const;
  double recall() const;
};

/// Methods whose records have shares, except baselines. least_share maximises the sum of the wrong
/// replies found, as a fraction, and the right replies kept, as a fraction.
std::vector<UnfoundedReplies> unfounded_replies(const Results& results);

}  // namespace longhaul
