#include "report/costs.h"

#include <algorithm>
#include <set>

namespace longhaul {
namespace {

bool scored(const Results& results, size_t variant) {
  return results.variants()[variant].metric == "score";
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

std::optional<double> quality_at(const Results& results, size_t series, int64_t length) {
  double sum = 0;
  int count = 0;
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    if (!scored(results, variant)) continue;
    const auto asked = results.lengths_of(variant);
    if (std::find(asked.begin(), asked.end(), length) == asked.end()) continue;
    const Cell* cell = results.cell(variant, length, series);
    if (cell == nullptr || cell->score.n == 0) return std::nullopt;
    sum += cell->score.mean;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::vector<int64_t> scored_lengths(const Results& results) {
  std::set<int64_t> lengths;
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    if (!scored(results, variant)) continue;
    for (const int64_t length : results.lengths_of(variant)) lengths.insert(length);
  }
  lengths.erase(0);
  return {lengths.begin(), lengths.end()};
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
