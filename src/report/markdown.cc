#include <fmt/format.h>

#include "base/units.h"
#include "report/costs.h"
#include "report/cut_texts.h"
#include "report/run_title.h"
#include "report/tables.h"
#include "report/text.h"
#include "report/text_formats.h"
#include "report/verdict.h"

namespace longhaul {
namespace {

constexpr size_t kLongestCommand = 4000;

std::string verdict(const Results& results, int64_t length) {
  std::string out;
  for (const Verdict& v : verdicts(results, length)) {
    out += (v.run.empty() ? "" : markdown_cell(v.run) + ": ") + markdown_cell(v.measure) + "\n\n";
    for (const Verdict::Pick& pick : v.picks) {
      const char* between = pick.method.empty() || pick.text.empty() ? "" : ": ";
      out += fmt::format("- {}: {}{}{}\n", pick.title, markdown_cell(pick.method), between,
                         markdown_cell(pick.text));
    }
    out += "\n";
  }
  return out;
}

std::string markdown_glance(const Results& results) {
  const auto length = main_length(results);
  if (!length) return "";
  return verdict(results, *length) +
         fmt::format(
             "## At a glance\n\nMean score over all tasks, per cent, by prompt length{}; "
             "costs "
             "are medians at one length, {}.\n\n{}",
             scored_lengths(results).front() == 0 ? " (own: the samples' own lengths)" : "",
             length_text(*length), markdown_table(glance_table(results, *length)));
}

std::string markdown_groups(const Results& results, size_t variant) {
  std::string out;
  for (const GroupTable& t : group_tables(results, variant)) {
    const auto instead = too_many_groups(t);
    out += instead ? *instead + "\n\n"
                   : fmt::format("{}:\n\n{}", group_title(t),
                                 markdown_table(group_table(results, variant, t)));
  }
  return out;
}

std::string task(const Results& results, size_t variant) {
  const TaskVariant& v = results.variants()[variant];
  std::string words = "Score: " + markdown_cell(v.metric.rule_text(v.rule));
  if (!v.source.empty()) words += " Source: " + markdown_cell(full_stop(v.source));
  if (v.opening) words += " The prompt ends with the answer's opening words.";
  if (const std::string cut = cut_text(results, variant); !cut.empty()) words += " " + cut;
  return fmt::format("### {}\n\n{}\n\n{}", markdown_cell(v.label), words,
                     markdown_table(task_table(results, variant))) +
         markdown_groups(results, variant);
}

std::string markdown_recall(const Results& results) {
  std::string out;
  for (const RecallTable& t : recall_tables(results)) {
    out += fmt::format("### {}\n\n{}", length_title(t.length),
                       markdown_table(layer_table(results, t)));
  }
  if (out.empty()) return out;
  return fmt::format(
      "## What the replies could see\n\nShare of the answer's tokens in the text, per cent, that "
      "at least one head of a layer could see in the rows that chose the reply's tokens, by layer. "
      "{}\n\n{}",
      kRecallReading, out);
}

std::string markdown_failures(const Results& results) {
  constexpr size_t kMost = 50;
  size_t count = 0;
  const ReportTable table = error_table(results, kMost, count);
  if (count == 0) return "";
  return fmt::format(
      "## Failures\n\n{} never given (* above; scored 0, left out of perplexity and "
      "controls){}.\n\n{}",
      count == 1 ? "1 answer was" : counted(static_cast<int64_t>(count), "answer") + " were",
      count > kMost ? fmt::format("; the first {}", kMost) : "", markdown_table(table));
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
  out += markdown_glance(results);
  out +=
      "## Task by task\n\nMean score in per cent (perplexity: nats) with its 95 % interval: "
      "Wilson's where every sample scores 0 or 1, Student's t otherwise.\n\n";
  for (size_t v = 0; v < results.variants().size(); ++v) out += task(results, v);
  return out + markdown_recall(results) + markdown_failures(results);
}

}  // namespace longhaul
