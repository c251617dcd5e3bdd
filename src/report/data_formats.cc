#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/groups.h"
#include "report/text.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

void put_interval(ordered_json& json, const std::optional<Interval>& interval) {
  if (!interval) return;
  json["low"] = interval->low;
  json["high"] = interval->high;
}

/// Number of answers to a text whose middle was removed.
int64_t cut_texts(const Cell& cell) {
  return std::ranges::count_if(
      cell.records, [](const Record* r) { return r->cut_tokens > 0 && r->begins_answer(); });
}

ordered_json cell_json(const Results& results, const CellKey& key, const Cell& cell) {
  const TaskVariant& v = results.variants()[key.variant];
  const Series& s = results.series()[key.series];
  ordered_json json = {{"run", results.runs()[s.run].name},
                       {"task", v.task},
                       {"opening", v.opening},
                       {"length", key.length},
                       {"method", s.method},
                       {"metric", v.metric.name},
                       {"n", cell.score.n},
                       {"failed", cell.failed},
                       {"mean", cell.score.mean},
                       {"low", nullptr},
                       {"high", nullptr},
                       {"first_token_seconds", cell.cost.first_token_seconds},
                       {"decode_tokens_per_second", cell.cost.decode_tokens_per_second},
                       {"kv_bytes", cell.cost.kv_bytes},
                       {"pairs_share", cell.cost.pairs_share},
                       {"cut", cut_texts(cell)}};
  if (cell.score.n == 0) json["mean"] = nullptr;
  put_interval(json, cell.score.interval);
  return json;
}

/// The cells' parts by Record::group: a cell's fields, and "group".
ordered_json groups_json(const Results& results) {
  ordered_json rows = ordered_json::array();
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    for (const GroupTable& table : group_tables(results, variant)) {
      for (const GroupRow& row : table.rows) {
        for (const auto& [series, cell] : row.cells) {
          rows.push_back(cell_json(results, {variant, table.length, series}, cell));
          rows.back()["group"] = row.group.empty() ? ordered_json() : ordered_json(row.group);
        }
      }
    }
  }
  return rows;
}

std::string csv_value(const ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(value.get<std::string>());
  return value.dump();
}

std::string csv_line(const ordered_json& fields) {
  std::string line;
  for (const auto& [name, value] : fields.items()) {
    if (name != "run") line += ',';
    line += csv_value(value);
  }
  return line + '\n';
}

}  // namespace

std::string csv_report(const Results& results) {
  std::string out =
      "run,task,opening,length,method,metric,n,failed,mean,low,high,first_token_seconds,"
      "decode_tokens_per_second,kv_bytes,pairs_share,cut,group\n";
  for (const auto& [key, cell] : results.cells()) {
    ordered_json fields = cell_json(results, key, cell);
    fields["group"] = "";
    out += csv_line(fields);
  }
  for (ordered_json fields : groups_json(results)) {
    if (fields["group"].is_null()) fields["group"] = "(none)";  // "" means the whole cell
    out += csv_line(fields);
  }
  return out;
}

ordered_json json_comparison(const Results& results, const Comparison& comparison) {
  ordered_json rows = ordered_json::array();
  for (const auto* list : {&comparison.over_lengths, &comparison.by_length}) {
    for (const Difference& d : *list) {
      const Series &a = results.series()[d.a], &b = results.series()[d.b];
      const TaskVariant& v = results.variants()[d.variant];
      rows.push_back({{"run_a", results.runs()[a.run].name},
                      {"run_b", results.runs()[b.run].name},
                      {"method_a", a.method},
                      {"method_b", b.method},
                      {"task", v.task},
                      {"opening", v.opening},
                      {"metric", v.metric.name},
                      {"length", d.length ? ordered_json(*d.length) : ordered_json(nullptr)},
                      {"n", d.paired.n},
                      {"mean_a", d.paired.mean_a},
                      {"mean_b", d.paired.mean_b},
                      {"difference", d.paired.difference},
                      {"low", nullptr},
                      {"high", nullptr},
                      {"p", d.paired.p},
                      {"p_holm", d.p_holm},
                      {"real", d.real()},
                      {"b_higher", d.paired.higher},
                      {"b_lower", d.paired.lower},
                      {"test", d.paired.test},
                      {"only_a", d.only_a},
                      {"only_b", d.only_b},
                      {"other_prompts", d.other_prompts}});
      put_interval(rows.back(), d.paired.interval);
    }
  }
  return rows;
}

ordered_json json_cells(const Results& results) {
  ordered_json cells = ordered_json::array();
  for (const auto& [key, cell] : results.cells()) cells.push_back(cell_json(results, key, cell));
  return cells;
}

ordered_json json_report(const Results& results) {
  ordered_json runs = ordered_json::array();
  for (const RunFolder& run : results.runs()) {
    runs.push_back({{"name", run.name},
                    {"answers", count_answers(run.records)},
                    {"torn", run.torn},
                    {"run", run.info}});
  }
  return {{"runs", runs},
          {"cells", json_cells(results)},
          {"groups", groups_json(results)},
          {"differences",
           json_comparison(results, compare_series(results, pairs_against_dense(results)))}};
}

}  // namespace longhaul
