#pragma once
// Measures how well the attention on the first passage (Record::source_share) separates right
// replies from wrong replies.

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

/// Returns the results of all methods whose records have shares, except baselines. least_share
/// maximises the sum of two fractions: the wrong replies with a warning, as a fraction of all wrong
/// replies, and the right replies without a warning, as a fraction of all right replies.
std::vector<UnfoundedReplies> unfounded_replies(const Results& results);

}  // namespace longhaul
