// Failures: missing answers, and examples of wrong ones.

#include "report/tables.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr size_t kWrongPerCell = 2, kMostWrong = 300, kLongestText = 160;

ReportTable table_of_samples() {
  return {{{"method", "", true},
           {"task", "", true, true},
           {"length", "", true},
           {"sample", "", true, true}},
          {}};
}

TableRow row_of(const Results& results, const CellKey& key, const Record& r) {
  const Series& series = results.series()[key.series];
  TableRow row{series.label, series.method, series.control, {}};
  row.cells = {{results.variants()[key.variant].label, ""},
               {length_text(key.length), "", "", "", 0, static_cast<double>(key.length)},
               {shortened(r.sample_id(), 40), ""}};
  return row;
}

TableCell words(const std::string& text, size_t most) {
  const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
  return {blank ? "(nothing)" : shortened(text, most), "", "", "wrap", 0, {}};
}

}  // namespace

ReportTable error_table(const Results& results, size_t most, size_t& count) {
  ReportTable table = table_of_samples();
  table.columns.push_back({"why", "", true, true});
  count = 0;
  for (const auto& [key, cell] : results.cells()) {
    for (const Record* r : cell.records) {
      if (r->error.empty() || !r->begins_answer() || ++count > most) continue;
      table.rows.push_back(row_of(results, key, *r));
      table.rows.back().cells.push_back(words(r->error, 300));
    }
  }
  return table;
}

ReportTable wrong_table(const Results& results, size_t& count) {
  ReportTable table = table_of_samples();
  table.columns.push_back({"score", "", true});
  table.columns.push_back({"expected", "", true, true});
  table.columns.push_back({"reply", "", true, true});
  count = 0;
  for (const auto& [key, cell] : results.cells()) {
    if (results.series()[key.series].control || !results.variants()[key.variant].metric.share())
      continue;
    size_t shown = 0;
    for (const Record* r : cell.records) {
      if (!r->error.empty() || r->score >= 0.5) continue;
      ++count;
      if (shown++ >= kWrongPerCell || count > kMostWrong) continue;
      std::string expected;
      for (const std::string& answer : r->expected)
        expected += (expected.empty() ? "" : " | ") + answer;
      TableRow row = row_of(results, key, *r);
      row.cells.push_back({percent_text(r->score), "", "", "", 0, r->score});
      row.cells.push_back(words(expected, kLongestText));
      row.cells.push_back(words(r->reply, kLongestText));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace longhaul
