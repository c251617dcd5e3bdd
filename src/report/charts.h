#pragma once
// Makes the charts of a report from its cells.

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

/// Returns one picture per method with the scores by length and by depth of the needle. There is
/// none for tasks without depths.
std::vector<NamedChart> heat_maps(const Results& results, size_t variant);

/// Returns charts for one length: quality against time to the first token and, if dense attention
/// has results, quality against the share of its KV bytes that a method saves, as in kvpress's
/// leaderboard. In the second chart the settings of one method are joined.
std::vector<NamedChart> cost_frontiers(const Results& results, int64_t length);

/// Returns charts of the time to the first token, the decode speed and the KV bytes by length.
/// There is none for a single length.
std::vector<NamedChart> cost_charts(const Results& results);

/// Returns one picture per length with the mean negative log-likelihood by position in the text.
std::vector<NamedChart> nll_charts(const Results& results, size_t variant);

std::vector<NamedChart> all_charts(const Results& results);

}  // namespace longhaul
