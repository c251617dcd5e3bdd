#pragma once
// What a reader wants to know first: which method is fastest, which is smallest, and which of them
// answer as well as dense attention.

#include <cstdint>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

struct Verdict {
  struct Pick {
    std::string title, method;  ///< "Smallest"; "" where no method is it
    std::string text;
  };
  std::string run;         ///< "" where there is one run
  std::string measure;     ///< what the others are compared with, in a sentence
  std::vector<Pick> picks; /**< fastest to the first token, fastest reply, smallest: among the
                                methods within the measure's interval; then these methods */
};

/// One for each run that has a method beside the measure (costs.h, measure_at). "Within the
/// interval": the mean over tasks is not below the lower end of the measure's 95 % interval.
std::vector<Verdict> verdicts(const Results& results, int64_t length);

}  // namespace longhaul
