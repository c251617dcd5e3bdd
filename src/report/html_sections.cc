// The sections of the page; empty sections are omitted.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "report/charts.h"
#include "report/costs.h"
#include "report/cut_texts.h"
#include "report/html_page.h"
#include "report/run_title.h"
#include "report/tables.h"
#include "report/text.h"
#include "report/verdict.h"

namespace longhaul {
namespace {

std::string section(const std::string& id, const std::string& title, const std::string& intro,
                    const std::string& body) {
  if (body.empty()) return "";
  const std::string lead = intro.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", intro);
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}{}</section>\n", id, title, lead, body);
}

/// A line that opens the content below it. Among those with one `group` only one is open at a time.
std::string fold(const std::string& title, const std::string& more, const std::string& body,
                 const std::string& group = "") {
  const std::string name = group.empty() ? "" : fmt::format(" name=\"{}\"", group);
  return fmt::format("<details{}><summary><b>{}</b> <span>{}</span></summary>\n{}</details>\n",
                     name, escape_xml(title), escape_xml(more), body);
}

std::string charts_html(const std::vector<NamedChart>& charts, const std::string& classes) {
  if (charts.empty()) return "";
  std::string out = fmt::format("<div class=\"{}\">\n", classes);
  for (const NamedChart& chart : charts) {
    const bool of_method = classes == "maps";
    out += of_method ? fmt::format("<div data-m=\"{}\">{}</div>\n", escape_xml(chart.method),
                                   chart.svg.element())
                     : chart.svg.element();
  }
  return out + "</div>\n";
}

/// Escaped text; a number and its unit stay on one line.
std::string with_whole_figures(const std::string& text) {
  std::string out = escape_xml(text);
  for (size_t at = 0; (at = out.find(' ', at + 1)) != std::string::npos;) {
    if (std::isdigit(static_cast<unsigned char>(out[at - 1]))) out.replace(at, 1, "\xC2\xA0");
  }
  return out;
}

std::string verdict_html(const Results& results, int64_t length) {
  std::string out;
  for (const Verdict& v : verdicts(results, length)) {
    if (!v.run.empty()) out += fmt::format("<h3>{}</h3>\n", escape_xml(v.run));
    out += fmt::format("<p>{}</p>\n<div class=\"picks\">\n", with_whole_figures(v.measure));
    for (const Verdict::Pick& pick : v.picks) {
      out += fmt::format("<div><h3>{}</h3><b>{}</b><span>{}</span></div>\n", pick.title,
                         pick.method.empty() ? "\xE2\x80\x93" : escape_xml(pick.method),
                         with_whole_figures(pick.text));
    }
    out += "</div>\n";
  }
  return out;
}

std::string glance(const Results& results) {
  const auto length = main_length(results);
  if (!length) return "";
  return section(
      "glance", "At a glance",
      fmt::format("Mean score over all tasks, per cent, by prompt length in tokens (own: the "
                  "samples\xE2\x80\x99 own lengths); behind it what each method costs at one "
                  "length, {}: medians of the time to the first token, decoding speed, KV cache "
                  "after the prompt, and the share of dense attention\xE2\x80\x99s query-key pairs "
                  "that were computed.<span class=\"js\"> A click on a column sorts.</span>",
                  length_text(*length)),
      html_table(glance_table(results, *length)));
}

std::string frontiers(const Results& results) {
  const auto length = main_length(results);
  if (!length) return "";
  return section(
      "frontier", "Quality against cost",
      "Left: up and to the left is better; the dashed line joins the methods that no other one "
      "beats in both. Right: how much of dense attention\xE2\x80\x99s KV cache is gone against "
      "what is left of the answers; settings of one method are joined, the dashed line is dense "
      "attention. Methods that keep everything, and controls, are left out there.",
      charts_html(cost_frontiers(results, *length), "charts"));
}

std::string lengths(const Results& results) {
  std::string body;
  for (const int64_t length : scored_lengths(results)) {
    const ReportTable table = length_table(results, length);
    const bool main = length == main_length(results);
    body += fold(length_title(length), fmt::format("{} methods and controls", table.rows.size()),
                 (main ? "" : verdict_html(results, length)) + html_table(table) +
                     (main ? "" : charts_html(cost_frontiers(results, length), "charts")),
                 "length");
  }
  return section("lengths", "Length by length",
                 "Every task and every cost at one length, per cent; intervals are under the "
                 "pointer and in the tables of the tasks.",
                 body);
}

std::string task_words(const Results& results, size_t variant) {
  const TaskVariant& v = results.variants()[variant];
  std::string words;
  if (!v.summary.empty()) words += escape_xml(sentence(v.summary)) + " ";
  if (v.opening) words += "The prompt ends with the answer\xE2\x80\x99s opening words. ";
  words += "<b>Score:</b> " + escape_xml(v.metric.rule_text(v.rule));
  if (!v.source.empty()) words += " <b>Source:</b> " + escape_xml(full_stop(v.source));
  if (const std::string cut = cut_text(results, variant); !cut.empty()) {
    words += " <b>Cut:</b> " + escape_xml(cut);
  }
  return fmt::format("<p class=\"rule\">{}</p>\n", words);
}

std::string groups(const Results& results, size_t variant) {
  std::string out;
  for (const GroupTable& groups : group_tables(results, variant)) {
    const auto instead = too_many_groups(groups);
    out += fmt::format("<p class=\"rule\"><b>{}</b></p>\n", escape_xml(group_title(groups))) +
           (instead ? fmt::format("<p>{}</p>\n", escape_xml(*instead))
                    : html_table(group_table(results, variant, groups)));
  }
  return out;
}

std::string tasks(const Results& results) {
  constexpr const char* kRamp =
      "<div class=\"key\"><span>0</span><span class=\"ramp\"></span><span>100</span>"
      "<span>score, per cent; dashed: not asked</span></div>\n";
  std::string body;
  for (size_t v = 0; v < results.variants().size(); ++v) {
    const auto maps = heat_maps(results, v);
    body += fold(results.variants()[v].label, results.variants()[v].summary,
                 task_words(results, v) + html_table(task_table(results, v)) + groups(results, v) +
                     (maps.empty() ? "" : kRamp + charts_html(maps, "maps")) +
                     charts_html(nll_charts(results, v), "charts"));
  }
  return section(
      "tasks", "Task by task",
      "Mean score in per cent with its 95 % interval: Wilson\xE2\x80\x99s where every sample "
      "scores 0 or 1, Student\xE2\x80\x99s t otherwise. A star: some answers were never given; "
      "they count as 0 (of perplexity and controls they are left out) and are listed below. "
      "Controls stand under the line: what can be scored without the text.",
      body);
}

std::string recall(const Results& results) {
  std::string body;
  for (const RecallTable& table : recall_tables(results)) {
    body += fold(length_title(table.length), "by layer", html_table(layer_table(results, table)));
  }
  return section(
      "recall", "What the replies could see",
      fmt::format(
          "Share of the answer\xE2\x80\x99s tokens in the text, per cent, that at least one "
          "head of a layer could see in the rows that chose the reply\xE2\x80\x99s tokens, "
          "by layer; mean over the answers that stand in their text word for word. {}",
          kRecallReading),
      body);
}

std::string differences(const Results& results) {
  const Comparison comparison = compare_series(results, pairs_against_dense(results));
  const size_t count = comparison.over_lengths.size();
  if (count == 0) return "";
  const auto real = std::ranges::count_if(comparison.over_lengths, &Difference::real);
  return section(
      "differences", "Which differences from dense attention are real",
      "Points of the score over all lengths that both read, on the same samples, with the 95 % "
      "interval of the difference (perplexity: nats). Coloured: p below 0.05 after "
      "Holm\xE2\x80\x99s correction for all of the table; grey: may be chance. The tests are under "
      "the pointer; <code>longhaul report --against dense</code> prints them by length.",
      fold(fmt::format("{} of {}", real, counted(static_cast<int64_t>(count), "difference")),
           real == 1 ? "is real" : "are real", html_table(difference_table(results, comparison))));
}

std::string failures(const Results& results) {
  constexpr size_t kMostErrors = 200;
  size_t errors = 0, wrong = 0;
  const ReportTable error_rows = error_table(results, kMostErrors, errors),
                    wrong_rows = wrong_table(results, wrong);
  std::string body = "<p>Every sample was answered.</p>\n";
  if (errors > 0) {
    body = fold(fmt::format("{} never given", counted(static_cast<int64_t>(errors), "answer") +
                                                  (errors == 1 ? " was" : " were")),
                errors > kMostErrors ? fmt::format("the first {}", kMostErrors) : "",
                html_table(error_rows));
  }
  if (wrong > 0) {
    body += fold("Wrong replies: " + with_commas(static_cast<int64_t>(wrong)),
                 "score below 50; a few of each cell", html_table(wrong_rows));
  }
  return section("failures", "Failures", "", body);
}

std::string value_html(const nlohmann::ordered_json& value) {
  if (!value.is_object()) return escape_xml(info_text(value));
  std::string out;
  for (const auto& [key, inner] : value.items()) {
    const std::string text = key == "weight_bytes" && inner.is_number_unsigned()
                                 ? format_bytes(inner.get<size_t>())
                             : inner.is_number() ? inner.dump()  // a seed has no commas
                                                 : info_text(inner);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", escape_xml(key), escape_xml(text));
  }
  return out;
}

std::string what_was_run(const Results& results) {
  std::string body;
  for (const RunFolder& run : results.runs()) {
    if (results.runs().size() > 1) body += fmt::format("<h3>{}</h3>\n", escape_xml(run.name));
    body += "<dl>\n";
    for (const std::string& command : commands_of(run)) {
      body += fmt::format("<dt>command</dt><dd><code>{}</code></dd>\n", escape_xml(command));
    }
    for (const auto& [key, value] : run.info.items()) {
      if (key == "command" || key == "commands" || key == "unfinished") continue;
      // tasks are listed above; settings are hashes
      if (key == "tasks" || key == "settings") continue;
      // Numbers such as the seed are identifiers: no commas in them.
      const std::string text = value.is_number() ? escape_xml(value.dump()) : value_html(value);
      body += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_xml(key), text);
    }
    body += "</dl>\n";
  }
  return section("run", "What was run", "", fold("Commands", "model, machine, options", body));
}

}  // namespace

std::string html_verdict(const Results& results) {
  const auto main = main_length(results);
  return section("verdict", "Verdict", "", main ? verdict_html(results, *main) : "");
}

std::string html_sections(const Results& results) {
  return glance(results) + frontiers(results) + lengths(results) + tasks(results) +
         section("costs", "Cost by length", "Medians over the answers of all tasks.",
                 charts_html(cost_charts(results), "charts")) +
         recall(results) + differences(results) + failures(results) + what_was_run(results);
}

}  // namespace longhaul
