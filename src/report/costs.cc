#include "report/costs.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace longhaul {
namespace {

bool scored(const Results& results, size_t variant) {
  return results.variants()[variant].metric.share();
}

}  // namespace

Cost cost_at(const Results& results, size_t series, int64_t length) {
  std::vector<const Record*> records;
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    const Cell* cell = results.cell(variant, length, series);
    if (cell == nullptr || !scored(results, variant)) continue;
    records.insert(records.end(), cell->records.begin(), cell->records.end());
  }
  return cost_of(records);
}

std::optional<Estimate> quality_at(const Results& results, size_t series, int64_t length) {
  Estimate mean;
  double count = 0, below = 0, above = 0;  // below, above: sums of squared distances to the bounds
  bool bounded = true;
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    if (!scored(results, variant)) continue;
    const auto asked = results.lengths_of(variant);
    if (std::find(asked.begin(), asked.end(), length) == asked.end()) continue;
    const Cell* cell = results.cell(variant, length, series);
    if (cell == nullptr || cell->score.n == 0) return std::nullopt;
    const Estimate& score = cell->score;
    mean.mean += score.mean;
    mean.n += score.n;
    ++count;
    bounded = bounded && score.interval.has_value();
    if (!bounded) continue;
    below += std::pow(score.mean - score.interval->low, 2);
    above += std::pow(score.interval->high - score.mean, 2);
  }
  if (count == 0) return std::nullopt;
  mean.mean /= count;
  if (bounded) {
    mean.interval = {mean.mean - std::sqrt(below) / count, mean.mean + std::sqrt(above) / count};
  }
  return mean;
}

std::vector<int64_t> scored_lengths(const Results& results) {
  std::set<int64_t> lengths;
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    if (!scored(results, variant)) continue;
    for (const int64_t length : results.lengths_of(variant)) lengths.insert(length);
  }
  return {lengths.begin(), lengths.end()};
}

std::optional<int64_t> main_length(const Results& results) {
  std::optional<int64_t> longest;
  int64_t most = 0;
  for (const int64_t length : scored_lengths(results)) {
    int64_t methods = 0;
    for (size_t i = 0; i < results.series().size(); ++i) {
      methods += !results.series()[i].control && quality_at(results, i, length) ? 1 : 0;
    }
    if (methods < most) continue;
    most = methods;
    longest = length;
  }
  return longest;
}

std::optional<size_t> measure_at(const Results& results, size_t run, int64_t length) {
  const auto dense = results.dense_of(run);
  if (dense && quality_at(results, *dense, length)) return dense;
  std::optional<size_t> best;
  double highest = -1;
  for (size_t i = 0; i < results.series().size(); ++i) {
    const Series& s = results.series()[i];
    const auto quality = quality_at(results, i, length);
    if (s.run != run || s.control || !quality || quality->mean <= highest) continue;
    highest = quality->mean;
    best = i;
  }
  return best;
}

size_t style_of(const Results& results, size_t series) {
  const auto& all = results.series();
  size_t first_dense = all.size();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].method == "dense") {
      first_dense = i;
      break;
    }
  }
  if (series == first_dense) return 0;
  return series < first_dense ? series + 1 : series;
}

}  // namespace longhaul
