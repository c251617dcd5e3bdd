#include "report/recall.h"

#include <algorithm>

namespace longhaul {
namespace {

Recall recall_at(const Results& results, size_t series, int64_t length) {
  Recall recall{series, 0, {}};
  for (const auto& [key, cell] : results.cells()) {
    if (key.series != series || key.length != length) continue;
    for (const Record* r : cell.records) {
      if (r->source_rank && r->score >= 0.5) {
        recall.right += 1;
        recall.first += *r->source_rank == 1 ? 1 : 0;
      }
      if (r->recall.empty()) continue;
      recall.layers.resize(std::max(recall.layers.size(), r->recall.size()));
      for (size_t i = 0; i < r->recall.size(); ++i) recall.layers[i] += r->recall[i];
      recall.answers += 1;
    }
  }
  for (double& layer : recall.layers) layer /= static_cast<double>(recall.answers);
  return recall;
}

}  // namespace

std::vector<RecallTable> recall_tables(const Results& results) {
  std::vector<RecallTable> tables;
  for (const int64_t length : results.lengths()) {
    RecallTable table{length, 0, {}};
    for (size_t series = 0; series < results.series().size(); ++series) {
      // with the answer removed from the text there is no recall
      if (results.series()[series].control) continue;
      Recall recall = recall_at(results, series, length);
      if (recall.answers == 0) continue;
      table.layers = std::max(table.layers, recall.layers.size());
      table.sources = table.sources || recall.right > 0;
      table.rows.push_back(std::move(recall));
    }
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace longhaul
