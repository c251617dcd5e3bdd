#pragma once
// Makes the charts of a report from its cells (report/results.h). `variant` is the index of a task
// in Results::variants().

#include <string>
#include <vector>

#include "report/results.h"
#include "report/svg/svg.h"

namespace longhaul {

struct NamedChart {
  /// Name for use in file names, such as "needle-dense" or "score-against-compression-8192".
  std::string name;
  Svg svg;
  std::string method = {};  ///< label of the method if the chart shows only one
};

/// Returns one chart per method. It shows the scores of a task by context length and by the depth
/// at which the answer is hidden in the text (Record::depth). The result is empty for tasks without
/// depths.
std::vector<NamedChart> heat_maps(const Results& results, size_t variant);

/// Returns one or two charts for a length, with one point per method. The first chart shows the
/// quality (quality_at() in costs.h) against the time to the first token. The second chart exists
/// only if dense attention has results. It shows the quality against the share of KV bytes that a
/// method saves in comparison with dense attention, as in the leaderboard of kvpress. In the second
/// chart, points of the same method with different options are connected.
std::vector<NamedChart> cost_frontiers(const Results& results, int64_t length);

/// Returns three charts with the length on the x axis: the time to the first token, the decode
/// speed, and the size of keys and values. The result is empty if there is only one length.
std::vector<NamedChart> cost_charts(const Results& results);

/// Returns one chart per length. It shows the mean negative log-likelihood by position in the text.
std::vector<NamedChart> nll_charts(const Results& results, size_t variant);

std::vector<NamedChart> all_charts(const Results& results);

}  // namespace longhaul
