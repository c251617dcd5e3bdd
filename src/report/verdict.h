#pragma once
// Creates a summary for readers. It names the fastest and the smallest method, and the methods that
// answer as well as dense attention.

#include <cstdint>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

struct Verdict {
  struct Pick {
    /// Title such as "Smallest"; method is empty if there is no such method.
    std::string title, method;
    std::string text;
  };
  std::string run;         ///< empty if there is only one run
  std::string measure;     ///< the reference of the comparison, as a sentence
  std::vector<Pick> picks; /**< fastest to the first token, fastest reply, smallest: among the
                                methods within the measure's interval; then these methods */
};

/// Returns a verdict for each run that has a method besides the reference (measure_at() in
/// costs.h). "Within the interval" means that the method's mean over tasks is not below the lower
/// end of the reference's 95 % interval.
std::vector<Verdict> verdicts(const Results& results, int64_t length);

}  // namespace longhaul
