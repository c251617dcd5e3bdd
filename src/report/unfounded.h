#pragma once
// Measures how well the attention to the first passage (Record::source_share) distinguishes right
// replies from wrong ones.

#include <cstdint>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// The replies of one method over all tasks and lengths. A reply gets a warning if the share of its
/// first passage is below `least_share`.
struct UnfoundedReplies {
  size_t series = 0;
  int64_t right = 0, wrong = 0;  ///< number of right (score of at least 0.5) and of wrong replies
  double least_share = 0;    ///< threshold that keeps most right replies and finds most wrong ones
  int64_t found = 0;         ///< number of wrong replies with a warning
  int64_t false_alarms = 0;  ///< number of right replies with a warning

  double precision() const;
  double recall() const;
};

/// Returns one sentence: how many wrong replies a warning finds and how many warnings are true, or
/// why no share can separate the replies.
std::string separation_text(const UnfoundedReplies& replies);

/// Returns the results of all methods whose records have shares, except baselines. least_share
/// maximises the sum of two fractions: the wrong replies with a warning, as a fraction of all wrong
/// replies, and the right replies without a warning, as a fraction of all right replies.
std::vector<UnfoundedReplies> unfounded_replies(const Results& results);

}  // namespace longhaul
