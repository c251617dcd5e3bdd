#include <fmt/format.h>

#include "base/units.h"
#include "report/costs.h"
#include "report/cut_texts.h"
#include "report/groups.h"
#include "report/markdown_table.h"
#include "report/recall.h"
#include "report/run_title.h"
#include "report/text.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";
constexpr size_t kLongestCommand = 4000;

std::string score_text(const Metric& metric, const Cell* cell) {
  if (cell == nullptr) return kDash;
  if (cell->score.n == 0) return "failed";
  std::string text = metric.text(cell->score.mean) + (cell->failed > 0 ? "*" : "");
  if (const auto& i = cell->score.interval) {
    text += fmt::format(" ({}{}{})", metric.text(i->low), kDash, metric.text(i->high));
  }
  return text;
}

/// A method's name where no line parts the controls from the others.
std::string plain_label(const Series& s) {
  return markdown_cell(s.control ? "control: " + s.label : s.label);
}

std::string glance(const Results& results) {
  const std::vector<int64_t> lengths = scored_lengths(results);
  if (lengths.empty()) return "";
  std::vector<std::string> head{"method"};
  for (const int64_t length : lengths) head.push_back(length_text(length));
  for (const char* cost : {"costs at", "first token", "tokens/s", "KV cache", "pairs, %"})
    head.emplace_back(cost);
  MarkdownTable table(head);
  for (size_t i = 0; i < results.series().size(); ++i) {
    const Glance found = glance_of(results, i, lengths);
    std::vector<std::string> row{markdown_cell(results.series()[i].label)};
    for (const auto& quality : found.quality) {
      row.push_back(quality ? percent_text(*quality) : kDash);
    }
    row.push_back(found.costs_at ? length_text(*found.costs_at) : kDash);
    for (const std::string& text : cost_texts(found.cost)) {
      row.push_back(text.empty() ? kDash : text);
    }
    table.add(std::move(row));
  }
  return fmt::format(
      "## At a glance\n\nMean score over all tasks, per cent, by prompt length{}; costs are "
      "medians at the longest length.\n\n{}",
      lengths.front() == 0 ? " (own: the samples' own lengths)" : "", table.text());
}

std::string groups(const Results& results, size_t variant) {
  std::string out;
  for (const GroupTable& t : group_tables(results, variant)) {
    if (const auto instead = too_many_groups(t)) {
      out += *instead + "\n\n";
      continue;
    }
    std::vector<std::string> head{"group"};
    for (const size_t series : t.series) head.push_back(plain_label(results.series()[series]));
    MarkdownTable table(head);
    for (const GroupRow& group : t.rows) {
      std::vector<std::string> row{markdown_cell(group_label(group))};
      for (const size_t series : t.series) {
        const auto cell = group.cells.find(series);
        row.push_back(score_text(results.variants()[variant].metric,
                                 cell == group.cells.end() ? nullptr : &cell->second));
      }
      table.add(std::move(row));
    }
    out += fmt::format("{}:\n\n{}", group_title(t), table.text());
  }
  return out;
}

std::string task(const Results& results, size_t variant) {
  const TaskVariant& v = results.variants()[variant];
  const std::vector<int64_t> lengths = results.lengths_of(variant);
  std::vector<std::string> head{"method"};
  for (const int64_t length : lengths) head.push_back(length_text(length));
  MarkdownTable table(head);
  for (size_t series = 0; series < results.series().size(); ++series) {
    std::vector<std::string> row{plain_label(results.series()[series])};
    bool any = false;
    for (const int64_t length : lengths) {
      const Cell* cell = results.cell(variant, length, series);
      any = any || cell != nullptr;
      row.push_back(score_text(v.metric, cell));
    }
    if (any) table.add(std::move(row));
  }
  std::string words = "Score: " + markdown_cell(v.metric.rule_text(v.rule));
  if (!v.source.empty()) words += " Source: " + markdown_cell(full_stop(v.source));
  if (v.opening) words += " The prompt ends with the answer's opening words.";
  if (const std::string cut = cut_text(results, variant); !cut.empty()) words += " " + cut;
  return fmt::format("### {}\n\n{}\n\n{}", markdown_cell(v.label), words, table.text()) +
         groups(results, variant);
}

std::string recall(const Results& results) {
  std::string out;
  for (const RecallTable& t : recall_tables(results)) {
    std::vector<std::string> head{"method"};
    for (size_t layer = 0; layer < t.layers; ++layer) head.push_back(fmt::format("{}", layer));
    MarkdownTable table(head);
    for (const Recall& r : t.rows) {
      std::vector<std::string> row{markdown_cell(results.series()[r.series].label)};
      for (const double share : r.layers) row.push_back(percent_text(share));
      row.resize(t.layers + 1, kDash);
      table.add(std::move(row));
    }
    out += fmt::format("### {}\n\n{}", length_title(t.length), table.text());
  }
  if (out.empty()) return out;
  return fmt::format(
      "## What the replies could see\n\nShare of the answer's tokens in the text, per cent, that "
      "at least one head of a layer could see in the rows that chose the reply's tokens, by layer. "
      "{}\n\n{}",
      kRecallReading, out);
}

std::string failures(const Results& results) {
  constexpr int64_t kMost = 50;
  MarkdownTable table({"method", "task", "length", "sample", "why"}, 5);
  int64_t count = 0;
  for (const auto& [key, cell] : results.cells()) {
    for (const Record* r : cell.records) {
      if (r->error.empty() || !r->begins_answer() || ++count > kMost) continue;
      table.add({markdown_cell(results.series()[key.series].label),
                 markdown_cell(results.variants()[key.variant].label), length_text(key.length),
                 markdown_cell(shortened(r->sample_id(), 40)),
                 markdown_cell(shortened(r->error, 200))});
    }
  }
  if (count == 0) return "";
  return fmt::format(
      "## Failures\n\n{} never given (* above; scored 0, left out of perplexity and "
      "controls){}.\n\n{}",
      count == 1 ? "1 answer was" : counted(count, "answer") + " were",
      count > kMost ? fmt::format("; the first {}", kMost) : "", table.text());
}

}  // namespace

std::string markdown_report(const Results& results) {
  std::string out = fmt::format("# {}\n\n{}\n\n", markdown_cell(run_title(results.runs())),
                                markdown_cell(run_subtitle(results.runs())));
  for (const RunFolder& run : results.runs()) {
    for (const std::string& command : commands_of(run)) {
      out += "    " + shortened(command, kLongestCommand) + "\n\n";
    }
    if (run.torn)
      out += markdown_cell(run.name) + ": the last line of samples.jsonl is cut off.\n\n";
  }
  if (results.answers() == 0) return out + "No sample has been answered yet.\n";
  if (results.unfinished()) {
    out += "The run is not finished: not every method has answered every sample.\n\n";
  }
  out += glance(results);
  out +=
      "## Task by task\n\nMean score in per cent (perplexity: nats) with its 95 % interval: "
      "Wilson's where every sample scores 0 or 1, Student's t otherwise.\n\n";
  for (size_t v = 0; v < results.variants().size(); ++v) out += task(results, v);
  return out + recall(results) + failures(results);
}

}  // namespace longhaul
