// Heat maps: context length by depth of the needle.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/chart_labels.h"
#include "report/charts.h"
#include "report/svg/heat_map.h"
#include "report/text.h"

namespace longhaul {
namespace {

/// The requested depths, or tenths if there are too many for rows.
class DepthRows {
 public:
  explicit DepthRows(const std::set<double>& depths) {
    constexpr size_t kMostRows = 15;
    binned_ = depths.size() > kMostRows;
    if (binned_) {
      for (int i = 0; i < 10; ++i)
        labels_.push_back(fmt::format("{}\xE2\x80\x93{} %", 10 * i, 10 * i + 10));
      return;
    }
    for (const double depth : depths) exact_.emplace(depth, exact_.size());
    for (int decimals = 0;
         decimals < 17 && std::set(labels_.begin(), labels_.end()).size() < depths.size();
         ++decimals) {
      labels_.clear();
      for (const double depth : depths) {
        labels_.push_back(fmt::format("{:.{}f} %", 100 * depth, decimals));
      }
    }
  }
  size_t row_of(double depth) const {
    if (binned_) return std::min<size_t>(9, static_cast<size_t>(depth * 10));
    return exact_.at(depth);
  }
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  bool binned_ = false;
  std::map<double, size_t> exact_;
  std::vector<std::string> labels_;
};

HeatMap heat_map(const Results& results, size_t variant, size_t series, const DepthRows& rows,
                 const std::string& title) {
  const std::vector<int64_t> lengths = results.lengths_of(variant);
  HeatMap map;
  map.title = title;
  map.x_title = "context, tokens";
  map.y_title = "depth";
  map.y_labels = rows.labels();
  std::vector<std::vector<double>> scores(rows.labels().size() * lengths.size());
  for (size_t column = 0; column < lengths.size(); ++column) {
    map.x_labels.push_back(length_text(lengths[column]));
    const Cell* cell = results.cell(variant, lengths[column], series);
    if (cell == nullptr) continue;
    for (const Record* r : cell->records) {
      if (!r->depth) continue;
      scores[rows.row_of(*r->depth) * lengths.size() + column].push_back(r->error.empty() ? r->score
                                                                                          : 0);
    }
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    map.cells.emplace_back();
    if (scores[i].empty()) continue;
    const double mean = mean_of(scores[i]);
    map.cells.back() =
        HeatCell{mean, fmt::format("{}, {}, depth {}: {} ({} sample{})", map.title,
                                   length_title(lengths[i % lengths.size()]),
                                   map.y_labels[i / lengths.size()], percent_text(mean),
                                   scores[i].size(), scores[i].size() == 1 ? "" : "s")};
  }
  return map;
}

bool has_depths(const Results& results, size_t variant, size_t series) {
  for (const int64_t length : results.lengths_of(variant)) {
    const Cell* cell = results.cell(variant, length, series);
    if (cell == nullptr) continue;
    if (std::ranges::any_of(cell->records, [](const Record* r) { return r->depth.has_value(); })) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<NamedChart> heat_maps(const Results& results, size_t variant) {
  std::set<double> depths;
  for (const auto& [key, cell] : results.cells()) {
    if (key.variant != variant) continue;
    for (const Record* r : cell.records) {
      if (r->depth) depths.insert(*r->depth);
    }
  }
  std::vector<NamedChart> charts;
  if (depths.empty() || !results.variants()[variant].metric.share()) return charts;
  const DepthRows rows(depths);
  const std::vector<std::string> titles = chart_labels(results, 40);
  for (size_t i = 0; i < results.series().size(); ++i) {
    if (!has_depths(results, variant, i)) continue;
    charts.push_back(
        {file_part(results.variants()[variant].label + "-" + results.series()[i].label),
         draw(heat_map(results, variant, i, rows, titles[i])), results.series()[i].label});
  }
  return charts;
}

}  // namespace longhaul
