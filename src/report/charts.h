#pragma once
// The charts of a report, made from its cells.

#include <string>
#include <vector>

#include "report/results.h"
#include "report/svg/svg.h"

namespace longhaul {

struct NamedChart {
  std::string name;  ///< for file names: "needle-dense", "score-against-compression-8192"
  Svg svg;
  std::string method = {};  ///< label of the method, if it shows only one
};

/// Length by depth of the needle, one picture per method; none for tasks without depths.
std::vector<NamedChart> heat_maps(const Results& results, size_t variant);

/// At one length: quality against time to the first token. If dense attention has results, also
/// quality against the saved share of its KV bytes, as in kvpress's leaderboard (settings of one
/// method are joined).
std::vector<NamedChart> cost_frontiers(const Results& results, int64_t length);

/// Time to the first token, decode speed and KV bytes by length; none for a single length.
std::vector<NamedChart> cost_charts(const Results& results);

/// Mean negative log-likelihood by position in the text, one picture per length.
std::vector<NamedChart> nll_charts(const Results& results, size_t variant);

std::vector<NamedChart> all_charts(const Results& results);

}  // namespace longhaul
