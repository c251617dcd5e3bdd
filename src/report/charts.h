#pragma once
// Makes the charts of a report from its cells.

#include <string>
#include <vector>

#include "report/results.h"
#include "report/svg/svg.h"

namespace longhaul {

struct NamedChart {
  /// A part of file names, such as "needle-dense" or "score-against-compression-8192".
  std::string name;
  Svg svg;
  std::string method = {};  ///< label of the method if the chart shows only one
};

/// Returns one picture per method with the scores by context length and by depth of the needle. The
/// result is empty for tasks without depths.
std::vector<NamedChart> heat_maps(const Results& results, size_t variant);

/// Returns charts for one length. The first shows quality against the time to the first token. If
/// dense attention has results, the second shows quality against the share of dense attention's KV
/// bytes that a method saves, as in kvpress's leaderboard. In the second chart, the settings of one
/// method are connected.
std::vector<NamedChart> cost_frontiers(const Results& results, int64_t length);

/// Returns charts of the time to the first token, the decode speed and the KV bytes by length. The
/// result is empty if there is only one length.
std::vector<NamedChart> cost_charts(const Results& results);

/// Returns one picture per length with the mean negative log-likelihood by position in the text.
std::vector<NamedChart> nll_charts(const Results& results, size_t variant);

std::vector<NamedChart> all_charts(const Results& results);

}  // namespace longhaul
