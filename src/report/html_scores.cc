// Sections of scores: at a glance, frontiers, the matrix, and every task by itself.

#include <fmt/format.h>

#include <algorithm>

#include "report/costs.h"
#include "report/cut_texts.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";

std::string glance_row(const Results& results, size_t series, const std::vector<int64_t>& lengths) {
  const Glance glance = glance_of(results, series, lengths);
  std::string row = "<tr>" + html_row_head(results.series()[series]);
  for (const auto& quality : glance.quality) {
    row += quality
               ? fmt::format("<td {}>{}</td>", html_tint(*quality), percent_text(*quality))
               : fmt::format("<td class=\"none\" title=\"not asked, or not in all tasks\">{}</td>",
                             kDash);
  }
  if (!glance.costs_at)
    return row + fmt::format("<td class=\"none\" colspan=\"5\">{}</td></tr>\n", kDash);
  row += fmt::format("<td class=\"first\">{}</td>", length_text(*glance.costs_at));
  for (const std::string& text : cost_texts(glance.cost)) {
    row += text.empty() ? fmt::format("<td class=\"none\">{}</td>", kDash)
                        : fmt::format("<td>{}</td>", text);
  }
  return row + "</tr>\n";
}

std::string matrix_head(const Results& results, const std::vector<size_t>& variants) {
  std::string tasks = "<tr><th rowspan=\"2\">method</th>", lengths = "<tr>";
  for (const size_t variant : variants) {
    const std::vector<int64_t> asked = results.lengths_of(variant);
    tasks += fmt::format("<th class=\"group\" colspan=\"{}\">{}</th>", asked.size(),
                         escape_xml(results.variants()[variant].label));
    for (size_t i = 0; i < asked.size(); ++i) {
      lengths +=
          fmt::format("<th class=\"num{}\">{}</th>", i == 0 ? " first" : "", length_text(asked[i]));
    }
  }
  return tasks + "</tr>" + lengths + "</tr>";
}

std::string task_table(const Results& results, size_t variant) {
  const std::vector<int64_t> lengths = results.lengths_of(variant);
  std::string head = "<tr><th>method</th>";
  for (const int64_t length : lengths)
    head += fmt::format("<th class=\"num\">{}</th>", length_text(length));
  std::string methods, controls;
  for (size_t series = 0; series < results.series().size(); ++series) {
    const bool any = std::ranges::any_of(
        lengths, [&](int64_t length) { return results.cell(variant, length, series) != nullptr; });
    if (!any) continue;
    std::string row = "<tr>" + html_row_head(results.series()[series]);
    for (const int64_t length : lengths) {
      row += html_score_cell(results, {variant, length, series}, true);
    }
    (results.series()[series].control ? controls : methods) += row + "</tr>\n";
  }
  return html_table("scores", head + "</tr>", methods, controls);
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

constexpr const char* kRamp =
    "<div class=\"key\"><span>0</span><span class=\"ramp\"></span><span>100</span>"
    "<span>score, per cent; dashed: not asked</span></div>\n";

}  // namespace

std::string html_glance(const Results& results) {
  const std::vector<int64_t> lengths = scored_lengths(results);
  if (lengths.empty()) return "";
  std::string head = "<tr><th>method</th>";
  for (const int64_t length : lengths) {
    head += fmt::format("<th class=\"num\">{}</th>", length_text(length));
  }
  head +=
      "<th class=\"num first\">costs at</th><th class=\"num\">first token</th><th "
      "class=\"num\">tokens/s</th>"
      "<th class=\"num\">KV cache</th><th class=\"num\">pairs, %</th></tr>";
  std::string methods, controls;
  for (size_t i = 0; i < results.series().size(); ++i) {
    (results.series()[i].control ? controls : methods) += glance_row(results, i, lengths);
  }
  return html_section(
      "glance", "At a glance",
      "Mean score over all tasks, per cent, by prompt length in tokens (own: the "
      "samples\xE2\x80\x99 own lengths); beside it what the method costs at the "
      "longest length it read: medians of the time to the first token, decoding speed, KV "
      "cache after the prompt, and the share of "
      "dense attention\xE2\x80\x99s query-key pairs that were computed.",
      html_table("tight", head, methods, controls));
}

std::string html_frontiers(const Results& results) {
  return html_section("frontier", "Quality against cost",
                      "Up and to the left is better. The dashed line joins the methods that no "
                      "other one beats in both; "
                      "controls are left out.",
                      html_charts(frontier_charts(results), "charts"));
}

std::string html_matrix(const Results& results) {
  std::vector<size_t> variants;
  for (size_t v = 0; v < results.variants().size(); ++v) {
    if (results.variants()[v].metric.share()) variants.push_back(v);
  }
  if (variants.size() < 2) return "";
  std::string methods, controls;
  for (size_t series = 0; series < results.series().size(); ++series) {
    std::string row = "<tr>" + html_row_head(results.series()[series]);
    for (const size_t variant : variants) {
      bool first = true;
      for (const int64_t length : results.lengths_of(variant)) {
        row += html_score_cell(results, {variant, length, series}, false, first);
        first = false;
      }
    }
    (results.series()[series].control ? controls : methods) += row + "</tr>\n";
  }
  return html_section("matrix", "All tasks",
                      "Per cent; intervals are under the pointer and in the tables of the tasks.",
                      html_table("tight", matrix_head(results, variants), methods, controls));
}

std::string html_tasks(const Results& results) {
  std::string body;
  for (size_t v = 0; v < results.variants().size(); ++v) {
    const TaskVariant& variant = results.variants()[v];
    body += fmt::format("<h3 id=\"task-{}\">{}</h3>\n", v, escape_xml(variant.label));
    body += task_words(results, v) + task_table(results, v) + html_groups(results, v);
    if (const auto maps = heat_maps(results, v); !maps.empty())
      body += kRamp + html_charts(maps, "maps");
    body += html_charts(nll_charts(results, v), "charts");
  }
  return html_section(
      "tasks", "Task by task",
      "Mean score in per cent with its 95 % interval: Wilson\xE2\x80\x99s where every sample "
      "scores 0 or 1, "
      "Student\xE2\x80\x99s t otherwise. A star: some answers were never given; they count as 0 "
      "(of perplexity and controls they are left out) and are listed below. Controls stand under "
      "the line: what can be scored without the text.",
      body);
}

std::string html_costs(const Results& results) {
  return html_section("costs", "Cost by length", "Medians over the answers of all tasks.",
                      html_charts(cost_charts(results), "charts"));
}

}  // namespace longhaul
