// Tables of scores and costs.

#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "report/costs.h"
#include "report/svg/chart_style.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";

TableCell nothing(const std::string& why = "") { return {kDash, "", why, "none", 0, {}}; }

/// A share of 0..1 in per cent, tinted.
TableCell share_cell(double share) {
  constexpr double kStrongest = 46;  // per cent: the text on it stays readable, light and dark
  const ScoreFill fill = score_fill(share);
  return {percent_text(share), "", "", std::string(fill.classes), kStrongest * fill.opacity, share};
}

std::string range_text(const Metric& metric, const Interval& i, const char* between) {
  return metric.text(i.low) + between + metric.text(i.high);
}

/// `cell` null: not requested. `where` is shown under the pointer before the numbers.
TableCell score_cell(const Metric& metric, const Cell* cell, const std::string& where) {
  if (cell == nullptr) return nothing("not asked");
  const Estimate& score = cell->score;
  TableCell out = nothing();
  out.text = "failed";
  if (score.n > 0) {
    if (metric.share()) out = share_cell(score.mean);
    if (!metric.share()) out.classes.clear();
    out.text = metric.text(score.mean) + (cell->failed > 0 ? "*" : "");
    out.value = score.mean;
  }
  out.tooltip = where + ": " + metric.text(score.mean);
  if (score.interval) {
    out.tooltip += ", 95 % interval " + range_text(metric, *score.interval, " to ");
    out.detail = range_text(metric, *score.interval, kDash);
  }
  out.tooltip += fmt::format(", n {}", score.n);
  if (cell->failed > 0) out.tooltip += fmt::format(", {} without an answer", cell->failed);
  return out;
}

TableCell score_cell(const Results& results, const CellKey& key) {
  const TaskVariant& v = results.variants()[key.variant];
  return score_cell(v.metric, results.cell(key.variant, key.length, key.series),
                    fmt::format("{}, {}, {}", v.label, length_text(key.length),
                                results.series()[key.series].method));
}

TableCell mean_cell(const Results& results, size_t series, int64_t length) {
  const auto quality = quality_at(results, series, length);
  if (!quality) return nothing("not asked, or not in all tasks");
  TableCell cell = share_cell(quality->mean);
  if (quality->interval) {
    cell.tooltip = "95 % interval " + range_text(Metric{}, *quality->interval, " to ");
  }
  return cell;
}

TableRow row_of(const Series& series) { return {series.label, series.method, series.control, {}}; }

void add_cost_columns(ReportTable& table, int64_t length) {
  const std::string at = " (" + length_text(length) + ")";
  table.columns.push_back({"first token" + at, "median time to the first token", true});
  table.columns.push_back({"tokens/s", "median decoding speed"});
  table.columns.push_back({"KV cache", "after the prompt", true});
  table.columns.push_back(
      {"pairs, %", "of dense attention\xE2\x80\x99s query-key pairs, those computed", true});
}

void add_cost_cells(TableRow& row, const Cost& cost) {
  const auto add = [&](double value, const std::string& text) {
    row.cells.push_back(value > 0 ? TableCell{text, "", "", "", 0, value} : nothing());
  };
  add(cost.first_token_seconds, format_seconds(cost.first_token_seconds));
  add(cost.decode_tokens_per_second, number_text(cost.decode_tokens_per_second));
  add(cost.kv_bytes, format_bytes(static_cast<size_t>(cost.kv_bytes)));
  add(cost.pairs_share, percent_text(cost.pairs_share));
}

bool answered(const Results& results, size_t series, int64_t length) {
  return std::ranges::any_of(results.cells(), [&](const auto& item) {
    return item.first.series == series && item.first.length == length;
  });
}

}  // namespace

ReportTable glance_table(const Results& results, int64_t costs_at) {
  ReportTable table{{{"method", "", true}}, {}};
  const std::vector<int64_t> lengths = scored_lengths(results);
  for (const int64_t length : lengths) table.columns.push_back({length_text(length)});
  add_cost_columns(table, costs_at);
  for (size_t i = 0; i < results.series().size(); ++i) {
    TableRow row = row_of(results.series()[i]);
    for (const int64_t length : lengths) row.cells.push_back(mean_cell(results, i, length));
    add_cost_cells(row, cost_at(results, i, costs_at));
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable length_table(const Results& results, int64_t length) {
  ReportTable table{{{"method", "", true}, {"mean"}}, {}};
  std::vector<size_t> variants;
  for (size_t v = 0; v < results.variants().size(); ++v) {
    const TaskVariant& variant = results.variants()[v];
    if (!variant.metric.share() || std::ranges::count(results.lengths_of(v), length) == 0) continue;
    variants.push_back(v);
  }
  for (const size_t v : variants) {
    const TaskVariant& variant = results.variants()[v];
    const bool alone = std::ranges::count(variants, variant.task, [&](size_t other) {
                         return results.variants()[other].task;
                       }) == 1;
    table.columns.push_back({alone ? variant.task : variant.label, variant.label});
  }
  add_cost_columns(table, length);
  for (size_t i = 0; i < results.series().size(); ++i) {
    if (!answered(results, i, length)) continue;
    TableRow row = row_of(results.series()[i]);
    row.cells.push_back(mean_cell(results, i, length));
    for (const size_t v : variants) {
      row.cells.push_back(score_cell(results, {v, length, i}));
      row.cells.back().detail.clear();
    }
    add_cost_cells(row, cost_at(results, i, length));
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable task_table(const Results& results, size_t variant) {
  ReportTable table{{{"method", "", true}}, {}};
  const std::vector<int64_t> lengths = results.lengths_of(variant);
  const bool less_is_better = !results.variants()[variant].metric.share();
  for (const int64_t length : lengths) {
    table.columns.push_back({length_text(length), "", less_is_better});
  }
  for (size_t i = 0; i < results.series().size(); ++i) {
    TableRow row = row_of(results.series()[i]);
    bool any = false;
    for (const int64_t length : lengths) {
      any = any || results.cell(variant, length, i) != nullptr;
      row.cells.push_back(score_cell(results, {variant, length, i}));
    }
    if (any) table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable group_table(const Results& results, size_t variant, const GroupTable& groups) {
  const TaskVariant& v = results.variants()[variant];
  ReportTable table{{{"group", "", true}}, {}};
  for (const size_t i : groups.series) {
    const Series& s = results.series()[i];
    table.columns.push_back({(s.control ? "control: " : "") + s.label, s.method});
  }
  for (const GroupRow& group : groups.rows) {
    TableRow row{group_label(group)};
    for (const size_t i : groups.series) {
      const auto found = group.cells.find(i);
      row.cells.push_back(
          score_cell(v.metric, found == group.cells.end() ? nullptr : &found->second,
                     fmt::format("{}, {}, {}, {}", v.label, row.head, length_text(groups.length),
                                 results.series()[i].method)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

TableCell source_cell(const Recall& recall) {
  if (recall.right == 0) return nothing("no right answer that tells it");
  TableCell cell =
      share_cell(static_cast<double>(recall.first) / static_cast<double>(recall.right));
  const Interval interval = wilson_interval(recall.first, recall.right);
  cell.detail = range_text(Metric{}, interval, kDash);
  cell.tooltip = fmt::format("{} of {} right answers", recall.first, recall.right);
  return cell;
}

}  // namespace

ReportTable layer_table(const Results& results, const RecallTable& recall) {
  ReportTable table{{{"method", "", true}}, {}};
  if (recall.sources) {
    table.columns.push_back(
        {"source first, %", "of right answers: the passage that the reply drew on most holds it"});
  }
  for (size_t layer = 0; layer < recall.layers; ++layer) {
    table.columns.push_back({std::to_string(layer)});
  }
  for (const Recall& found : recall.rows) {
    TableRow row = row_of(results.series()[found.series]);
    if (recall.sources) row.cells.push_back(source_cell(found));
    for (const double share : found.layers) row.cells.push_back(share_cell(share));
    row.cells.resize(table.columns.size() - 1, nothing());
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

TableCell difference_cell(const Results& results, const Difference& d) {
  const PairedDifference& p = d.paired;
  const Metric& metric = results.variants()[d.variant].metric;
  const bool more = metric.share();  // higher is better
  TableCell cell;
  cell.text = metric.difference_text(p.difference);
  cell.detail = metric.interval_text(p.interval);
  cell.value = p.difference;
  cell.classes = d.real() ? (metric.better(p.difference) ? "real good" : "real bad") : "unsure";
  cell.tint = more ? std::min(46.0, 12 + 60 * std::abs(p.difference)) : 30;
  cell.tooltip = fmt::format(
      "{}: {} against {}: {} (95 % interval {}), p {} after Holm's correction {}, {}, {} better, "
      "{} worse; {}",
      results.variants()[d.variant].label, results.series()[d.b].method,
      results.series()[d.a].method, cell.text, p.interval ? cell.detail : "unknown",
      p_value_text(p.p), p_value_text(d.p_holm), counted(p.n, "pair"), more ? p.higher : p.lower,
      more ? p.lower : p.higher, p.test);
  return cell;
}

}  // namespace

ReportTable difference_table(const Results& results, const Comparison& comparison) {
  std::map<size_t, std::map<size_t, const Difference*>> by_series;  // by series and variant
  std::map<size_t, size_t> column_of;                               // by variant
  for (const Difference& d : comparison.over_lengths) {
    by_series[d.b][d.variant] = &d;
    column_of[d.variant] = 0;
  }
  ReportTable table{{{"method", "", true}}, {}};
  for (auto& [variant, column] : column_of) {
    column = table.columns.size() - 1;
    const TaskVariant& v = results.variants()[variant];
    table.columns.push_back({v.label, "", !v.metric.share()});
  }
  for (const auto& [series, differences] : by_series) {
    TableRow row = row_of(results.series()[series]);
    row.cells.resize(column_of.size(), nothing());
    for (const auto& [variant, d] : differences) {
      row.cells[column_of[variant]] = difference_cell(results, *d);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace longhaul
