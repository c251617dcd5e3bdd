#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/costs.h"
#include "report/recall.h"
#include "report/run_title.h"
#include "report/text.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";

/// Rows with columns aligned, so that the source reads as a table too.
class MarkdownTable {
 public:
  /// The first `left` columns hold texts, the others numbers.
  explicit MarkdownTable(std::vector<std::string> head, size_t left = 1) : left_(left) {
    rows_.push_back(std::move(head));
  }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<size_t> widths(rows_[0].size(), 3);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string out;
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t i = 0; i < widths.size(); ++i) {
        const std::string pad(widths[i] - width(rows_[r][i]), ' ');
        out += i == 0 ? "|" : "";
        out += i < left_ ? " " + rows_[r][i] + pad + " |" : " " + pad + rows_[r][i] + " |";
      }
      out += '\n';
      if (r > 0) continue;
      for (size_t i = 0; i < widths.size(); ++i) {
        const std::string rule(widths[i], '-');
        out += i == 0 ? "|" : "";
        out += i < left_ ? "-" + rule + "-|" : "-" + rule + ":|";
      }
      out += '\n';
    }
    return out + '\n';
  }

 private:
  static size_t width(const std::string& text) {
    return static_cast<size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }
  size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

std::string number(bool nll, double value) {
  return nll ? fmt::format("{:.3f}", value) : percent_text(value);
}

std::string score_text(const Results& results, const CellKey& key) {
  const Cell* cell = results.cell(key.variant, key.length, key.series);
  if (cell == nullptr) return kDash;
  if (cell->score.n == 0) return "failed";
  const bool nll = results.variants()[key.variant].metric == "nll";
  std::string text = number(nll, cell->score.mean) + (cell->failed > 0 ? "*" : "");
  if (const auto& i = cell->score.interval) {
    text += fmt::format(" ({}{}{})", number(nll, i->low), kDash, number(nll, i->high));
  }
  return text;
}

std::string glance(const Results& results) {
  const std::vector<int64_t> lengths = scored_lengths(results);
  if (lengths.empty()) return "";
  std::vector<std::string> head{"method"};
  for (const int64_t length : lengths) head.push_back(tokens_text(length));
  for (const char* cost : {"costs at", "first token", "tokens/s", "KV cache", "pairs, %"})
    head.emplace_back(cost);
  MarkdownTable table(head);
  for (size_t i = 0; i < results.series().size(); ++i) {
    std::vector<std::string> row{markdown_cell(results.series()[i].label)};
    Cost cost;
    int64_t longest = 0;
    for (const int64_t length : lengths) {
      const auto quality = quality_at(results, i, length);
      row.push_back(quality ? percent_text(*quality) : kDash);
      const Cost here = cost_at(results, i, length);
      if (here.first_token_seconds <= 0) continue;
      cost = here;
      longest = length;
    }
    const auto known = [](double value, std::string text) {
      return value > 0 ? text : std::string(kDash);
    };
    row.push_back(known(double(longest), tokens_text(longest)));
    row.push_back(known(cost.first_token_seconds, format_seconds(cost.first_token_seconds)));
    row.push_back(known(cost.decode_tokens_per_second, number_text(cost.decode_tokens_per_second)));
    row.push_back(known(cost.kv_bytes, format_bytes(static_cast<size_t>(cost.kv_bytes))));
    row.push_back(known(cost.pairs_share, percent_text(cost.pairs_share)));
    table.add(std::move(row));
  }
  return "## At a glance\n\nMean score over all tasks, per cent, by prompt length; costs are "
         "medians at the "
         "longest length.\n\n" +
         table.text();
}

std::string task(const Results& results, size_t variant) {
  const TaskVariant& v = results.variants()[variant];
  const std::vector<int64_t> lengths = results.lengths_of(variant);
  std::vector<std::string> head{"method"};
  for (const int64_t length : lengths) head.push_back(length_text(length));
  MarkdownTable table(head);
  for (size_t series = 0; series < results.series().size(); ++series) {
    const Series& s = results.series()[series];
    std::vector<std::string> row{markdown_cell(s.control ? "control: " + s.label : s.label)};
    bool any = false;
    for (const int64_t length : lengths) {
      any = any || results.cell(variant, length, series) != nullptr;
      row.push_back(score_text(results, {variant, length, series}));
    }
    if (any) table.add(std::move(row));
  }
  std::string words =
      v.metric == "nll"
          ? "Score: mean \xE2\x88\x92ln p of a token, nats; lower is better."
          : "Score: " + markdown_cell(full_stop(v.rule.empty() ? "rule not recorded" : v.rule));
  if (v.opening) words += " The prompt ends with the answer's opening words.";
  return fmt::format("### {}\n\n{}\n\n{}", markdown_cell(v.label), words, table.text());
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
    out += fmt::format("### {}\n\n{}", length_text(t.length), table.text());
  }
  if (out.empty()) return out;
  return "## What the replies could see\n\nShare of the answer's tokens in the text, per cent, "
         "that at least one head of a layer could see in the rows that chose the reply's tokens, "
         "by layer.\n\n" +
         out;
}

std::string failures(const Results& results) {
  constexpr size_t kMost = 50;
  MarkdownTable table({"method", "task", "length", "sample", "why"}, 5);
  size_t count = 0;
  for (const auto& [key, cell] : results.cells()) {
    for (const Record* r : cell.records) {
      if (r->error.empty() || ++count > kMost) continue;
      table.add({markdown_cell(results.series()[key.series].label),
                 markdown_cell(results.variants()[key.variant].label), length_text(key.length),
                 markdown_cell(shortened(r->id, 40)), markdown_cell(shortened(r->error, 200))});
    }
  }
  if (count == 0) return "";
  return fmt::format("## Failures\n\n{} answers were never given (* above; scored 0){}.\n\n{}",
                     count, count > kMost ? fmt::format("; the first {}", kMost) : "",
                     table.text());
}

std::string difference_text(bool nll, double value) {
  return nll ? fmt::format("{:+.3f}", value) : signed_points(value);
}

std::string difference_table(const Results& results, const std::vector<Difference>& list) {
  MarkdownTable table({"b against a", "task", "length", "a", "b", "b \xE2\x88\x92 a",
                       "95 % interval", "p", "p (Holm)", "n", "real"},
                      2);
  for (const Difference& d : list) {
    const bool nll = results.variants()[d.variant].metric == "nll";
    const std::string a = results.series()[d.a].label, b = results.series()[d.b].label;
    table.add({markdown_cell(b + " against " + a),
               markdown_cell(results.variants()[d.variant].label),
               d.length ? length_text(*d.length) : "all", number(nll, d.paired.mean_a),
               number(nll, d.paired.mean_b), difference_text(nll, d.paired.difference),
               fmt::format("{} to {}", difference_text(nll, d.paired.interval.low),
                           difference_text(nll, d.paired.interval.high)),
               p_value_text(d.paired.p), p_value_text(d.p_holm), fmt::format("{}", d.paired.n),
               d.real() ? "yes" : "no"});
  }
  return table.text();
}

}  // namespace

std::string markdown_report(const Results& results) {
  std::string out = fmt::format("# {}\n\n{}\n\n", markdown_cell(run_title(results.runs())),
                                markdown_cell(run_subtitle(results.runs())));
  for (const RunFolder& run : results.runs()) {
    if (const auto command = run.info.find("command"); command != run.info.end()) {
      out += "    " + shortened(info_text(*command), 4000) + "\n\n";
    }
    if (run.torn)
      out += markdown_cell(run.name) + ": the last line of samples.jsonl is cut off.\n\n";
  }
  if (results.records() == 0) return out + "No sample has been answered yet.\n";
  if (results.uneven()) {
    out += "Some methods have answered fewer samples than others: the run is not finished.\n\n";
  }
  out += glance(results);
  out +=
      "## Task by task\n\nMean score in per cent (perplexity: nats) with its 95 % interval: "
      "Wilson's where "
      "every sample scores 0 or 1, Student's t otherwise.\n\n";
  for (size_t v = 0; v < results.variants().size(); ++v) out += task(results, v);
  return out + recall(results) + failures(results);
}

std::vector<std::string> comparison_notes(const Comparison& comparison) {
  int64_t pairs = 0, only_a = 0, only_b = 0, other = 0;
  for (const Difference& d : comparison.over_lengths) {
    pairs += d.paired.n;
    only_a += d.only_a;
    only_b += d.only_b;
    other += d.other_prompts;
  }
  std::vector<std::string> notes{
      fmt::format("{} pairs of answers to the same samples.", with_commas(pairs))};
  if (only_a + only_b > 0) {
    notes.push_back(fmt::format(
        "Only common samples count: {} of a and {} of b have no partner and are left out.",
        with_commas(only_a), with_commas(only_b)));
  }
  if (other > 0) {
    notes.push_back(
        fmt::format("{} pairs had different prompts (another seed, chat template or tokenizer): "
                    "they are compared by sample number.",
                    with_commas(other)));
  }
  return notes;
}

std::string markdown_comparison(const Results& results, const Comparison& comparison,
                                const std::string& what) {
  std::string out = fmt::format("# {}\n\n", markdown_cell(what));
  if (comparison.over_lengths.empty()) return out + "They have no sample in common.\n";
  for (const std::string& note : comparison_notes(comparison)) out += note + "\n";
  const auto real =
      std::ranges::count_if(comparison.over_lengths, [](const Difference& d) { return d.real(); });
  out += fmt::format(
      "{} of {} differences are real: p below 0.05 after Holm's correction (each table is "
      "corrected by itself).\n"
      "Scores in per cent, differences in points (perplexity: nats). 0/1 scores: McNemar's exact "
      "test, Newcombe's\n"
      "interval; others: sign-flip permutation test, bootstrap interval; both seeded.\n\n",
      real, comparison.over_lengths.size());
  out += "## Over all lengths\n\n" + difference_table(results, comparison.over_lengths);
  if (comparison.by_length.size() > comparison.over_lengths.size()) {
    out += "## By length\n\n" + difference_table(results, comparison.by_length);
  }
  return out;
}

}  // namespace longhaul
