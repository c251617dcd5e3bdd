#pragma once
// Creates the verdict, the summary with which a report begins. It names the methods that answer as
// well as the reference, which measure_at() in costs.h selects (usually dense attention). It also
// names the fastest of these methods, and the one whose keys and values need the least memory.

#include <cstdint>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

struct Verdict {
  struct Pick {
    /// `title` is a text such as "Smallest", which means the least memory for keys and values.
    /// `method` is empty if no method fits the title. `text` is a sentence about the method.
    std::string title, method;
    std::string text;
  };
  std::string run;      ///< empty if there is only one run
  std::string measure;  ///< a sentence that names the reference and its quality
  /// The first three picks are chosen among the methods that answer as well as the reference: the
  /// fastest to the first token, the fastest in decoding, and the smallest keys and values. A
  /// method is chosen only if it is better than the reference in this respect. The last pick lists
  /// all these methods.
  std::vector<Pick> picks;
};

/// Returns a verdict for each run that has a reference and at least one other method. A method
/// answers as well as the reference if its quality (quality_at()) is not below the lower end of the
/// reference's 95 % interval.
std::vector<Verdict> verdicts(const Results& results, int64_t length);

}  // namespace longhaul
