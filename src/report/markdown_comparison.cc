// Significant differences, in words and tables.

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/table.h"
#include "report/text.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

std::string difference_list(const Results& results, const std::vector<Difference>& list) {
  ReportTable table{{{"b against a"}, {"task", "", true, true}}, {}};
  for (const char* title :
       {"length", "a", "b", "b \xE2\x88\x92 a", "95 % interval", "p", "p (Holm)", "n", "real"}) {
    table.columns.push_back({title});
  }
  for (const Difference& d : list) {
    const Metric& metric = results.variants()[d.variant].metric;
    const std::string a = results.series()[d.a].label, b = results.series()[d.b].label;
    TableRow row{fmt::format("{} against {}", b, a)};
    for (const std::string& text :
         {results.variants()[d.variant].label, d.length ? length_text(*d.length) : "all",
          metric.text(d.paired.mean_a), metric.text(d.paired.mean_b),
          metric.difference_text(d.paired.difference), metric.interval_text(d.paired.interval),
          p_value_text(d.paired.p), p_value_text(d.p_holm), fmt::format("{}", d.paired.n),
          std::string(d.real() ? "yes" : "no")}) {
      row.cells.push_back({text});
    }
    table.rows.push_back(std::move(row));
  }
  return markdown_table(table);
}

}  // namespace

std::vector<std::string> comparison_notes(const Comparison& comparison) {
  int64_t pairs = 0, only_a = 0, only_b = 0, other = 0;
  for (const Difference& d : comparison.over_lengths) {
    pairs += d.paired.n;
    only_a += d.only_a;
    only_b += d.only_b;
    other += d.other_prompts;
  }
  std::vector<std::string> notes{
      pairs == 1 ? "1 pair of answers to the same sample."
                 : fmt::format("{} pairs of answers to the same samples.", with_commas(pairs))};
  if (only_a + only_b > 0) {
    notes.push_back(fmt::format(
        "Only common samples count: {} of a and {} of b have no partner and are left out.",
        with_commas(only_a), with_commas(only_b)));
  }
  if (other > 0) {
    notes.push_back(
        fmt::format("{} had different prompts (another seed, chat template or tokenizer): "
                    "compared by sample number.",
                    counted(other, "pair")));
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
      "interval; others: sign-flip permutation test, bootstrap interval (fewer than 10: Student's "
      "t).\n\n",
      real, comparison.over_lengths.size());
  out += "## Over all lengths\n\n" + difference_list(results, comparison.over_lengths);
  if (comparison.by_length.size() > comparison.over_lengths.size()) {
    out += "## By length\n\n" + difference_list(results, comparison.by_length);
  }
  return out;
}

}  // namespace longhaul
