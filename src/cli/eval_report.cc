#include "cli/eval_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/table.h"
#include "report/cut_texts.h"
#include "report/method_text.h"
#include "report/recall.h"
#include "report/text.h"
#include "report/unfounded.h"

namespace longhaul {
namespace {

std::string interval_text(const Metric& metric, const Cell& cell) {
  if (!cell.score.interval) return "";
  return fmt::format("{}-{}", metric.text(cell.score.interval->low),
                     metric.text(cell.score.interval->high));
}

std::string failures_of(const Cell& cell) {
  if (cell.failed == 0) return "";
  for (const Record* record : cell.records) {
    if (!record->error.empty()) return fmt::format("{} failed: {}", cell.failed, record->error);
  }
  return fmt::format("{} failed", cell.failed);
}

std::vector<std::string> row_of(const Metric& metric, const Cell& cell, const std::string& method,
                                int64_t length) {
  const bool answered = cell.failed < cell.answers;
  const bool decoded = cell.cost.decode_tokens_per_second > 0;
  return {length > 0 ? with_commas(length) : "own",
          method,
          cell.score.n == 0 ? "-" : metric.text_with_unit(cell.score.mean),
          interval_text(metric, cell),
          fmt::format("{}", cell.score.n),
          answered ? format_bytes(static_cast<size_t>(cell.cost.kv_bytes)) : "-",
          answered ? format_seconds(cell.cost.first_token_seconds) : "-",
          decoded ? fmt::format("{:.0f}", cell.cost.decode_tokens_per_second) : "-",
          failures_of(cell)};
}

constexpr size_t kWidestMethod = 48;

/// Names of methods in the tables: with all their options or, if these are long, with a number
/// explained in a line below the tables.
class MethodColumn {
 public:
  explicit MethodColumn(const Results& results) {
    int numbered = 0;
    for (const auto& series : results.series()) {
      const std::string& method = series.method;
      if (method.size() <= kWidestMethod) {
        names_.push_back(method);
        continue;
      }
      names_.push_back(fmt::format("{} [{}]", method_name(method), ++numbered));
      legend_ += fmt::format("[{}] {}\n", numbered, method);
    }
  }

  const std::string& operator[](size_t series) const { return names_[series]; }
  std::string legend() const { return legend_.empty() ? "" : "\n" + legend_; }

 private:
  std::vector<std::string> names_;
  std::string legend_;
};

}  // namespace

std::string eval_text(const Results& results) {
  using enum Table::Align;
  const MethodColumn methods(results);
  std::string text;
  for (size_t v = 0; v < results.variants().size(); ++v) {
    const TaskVariant& variant = results.variants()[v];
    Table table({kRight, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kLeft});
    table.add({"length", "attention", variant.metric.name, "95 %", "n", "KV", "first token",
               "tokens/s", ""});
    for (const int64_t length : results.lengths_of(v)) {
      for (size_t s = 0; s < results.series().size(); ++s) {
        const Cell* cell = results.cell(v, length, s);
        if (cell == nullptr) continue;
        table.add(row_of(variant.metric, *cell, methods[s], length));
      }
    }
    text += fmt::format("{}{} ({})\n", text.empty() ? "" : "\n", variant.label, variant.rule);
    if (!variant.source.empty()) text += fmt::format("from: {}\n", variant.source);
    if (const std::string cut = cut_text(results, v); !cut.empty()) text += "cut: " + cut + "\n";
    text += table.text("  ");
  }
  for (const RecallTable& t : recall_tables(results)) {
    for (const Recall& r : t.rows) {
      if (r.right == 0) continue;
      text +=
          fmt::format("sources: {}, {}: the answer's passage is first for {} of {} right answers\n",
                      length_title(t.length), methods[r.series], r.first, r.right);
    }
  }
  for (const UnfoundedReplies& r : unfounded_replies(results)) {
    text += fmt::format("sources: {}: {}\n", methods[r.series], separation_text(r));
  }
  return text + methods.legend();
}

std::string profile_lines(const RunFolder& run) {
  std::string text;
  const auto settings = run.info.find("profile_settings");
  if (settings == run.info.end() || !settings->is_object()) return text;
  for (const auto& [method, value] : settings->items()) {
    text += fmt::format("{}: {} from the model's profile\n", method, info_text(value));
  }
  return text;
}

}  // namespace longhaul
