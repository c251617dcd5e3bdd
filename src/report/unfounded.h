#pragma once
// A reply is called unfounded if no passage of the context receives much more attention from its
// tokens than the other passages. Such a reply may be wrong. The report could warn of replies whose
// Record::source_share is low. This file measures how well such a warning would distinguish wrong
// replies from right ones.

#include <cstdint>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// The replies of one method in all tasks and at all lengths. A reply gets a warning if its
/// source_share is below `least_share`.
struct UnfoundedReplies {
  size_t series = 0;
  int64_t right = 0, wrong = 0;  ///< number of right (score of at least 0.5) and of wrong replies
  double least_share = 0;        ///< the threshold that separates right and wrong replies best
  int64_t found = 0;             ///< number of wrong replies with a warning
  int64_t false_alarms = 0;      ///< number of right replies with a warning

  double precision() const;
  double recall() const;
};

/// Returns a sentence that says how many wrong replies get a warning and how many warnings are
/// correct, or why no threshold can separate the replies.
std::string separation_text(const UnfoundedReplies& replies);

/// Returns one entry for each method whose records have a source_share, except baselines.
/// least_share maximises the sum of two fractions: the fraction of wrong replies that get a
/// warning, and the fraction of right replies that get none.
std::vector<UnfoundedReplies> unfounded_replies(const Results& results);

}  // namespace longhaul
