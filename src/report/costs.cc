#include "report/costs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/units.h"
#include "report/text.h"

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
  return {lengths.begin(), lengths.end()};
}

Glance glance_of(const Results& results, size_t series, const std::vector<int64_t>& lengths) {
  Glance glance;
  for (const int64_t length : lengths) {
    glance.quality.push_back(quality_at(results, series, length));
    const Cost cost = cost_at(results, series, length);
    if (cost.first_token_seconds <= 0) continue;
    glance.costs_at = length;
    glance.cost = cost;
  }
  return glance;
}

std::vector<std::string> cost_texts(const Cost& cost) {
  const auto known = [](double value, std::string text) {
    return value > 0 ? std::move(text) : std::string();
  };
  return {known(cost.first_token_seconds, format_seconds(cost.first_token_seconds)),
          known(cost.decode_tokens_per_second, number_text(cost.decode_tokens_per_second)),
          known(cost.kv_bytes, format_bytes(static_cast<size_t>(cost.kv_bytes))),
          known(cost.pairs_share, percent_text(cost.pairs_share))};
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
