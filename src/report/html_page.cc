#include "report/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/units.h"
#include "report/html_parts.h"
#include "report/html_style.h"
#include "report/run_title.h"
#include "report/svg/chart_style.h"
#include "report/text.h"

namespace longhaul {
namespace {

std::string counts_line(const Results& results) {
  int64_t methods = 0, controls = 0;
  for (const Series& s : results.series()) (s.control ? controls : methods) += 1;
  std::set<std::string> tasks;
  for (const TaskVariant& v : results.variants()) tasks.insert(v.task);
  int64_t fewest = 0, most = 0;
  for (const auto& [key, cell] : results.cells()) {
    fewest = fewest == 0 ? cell.answers : std::min(fewest, cell.answers);
    most = std::max(most, cell.answers);
  }
  std::string line = counted(methods, "method");
  if (controls > 0) line += " and " + counted(controls, "control");
  line += " on " + counted(std::ssize(tasks), "task");
  const std::string cell =
      fewest == most ? with_commas(most) : fmt::format("{} to {}", fewest, most);
  return line + fmt::format("; {}, {} a cell.", counted(results.answers(), "answer"), cell);
}

std::string navigation(const std::string& body) {
  constexpr std::pair<const char*, const char*> kLinks[] = {
      {"glance", "At a glance"},
      {"frontier", "Quality against cost"},
      {"matrix", "All tasks"},
      {"tasks", "Task by task"},
      {"recall", "What the replies could see"},
      {"costs", "Cost by length"},
      {"differences", "Real differences"},
      {"failures", "Failures"},
      {"run", "What was run"}};
  std::string links;
  for (const auto& [id, title] : kLinks) {
    if (body.find(fmt::format("<section id=\"{}\">", id)) == std::string::npos) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", id, title);
  }
  return "<nav aria-label=\"Sections\">\n" + links + "</nav>\n";
}

std::string warnings(const Results& results) {
  std::string text;
  for (const RunFolder& run : results.runs()) {
    if (run.torn) {
      text += fmt::format(
          "<p class=\"warn\">{}: the last line of samples.jsonl is cut off: the run was stopped, "
          "or is "
          "still under way.</p>\n",
          escape_xml(run.name));
    }
    if (run.records.empty()) {
      text += fmt::format("<p class=\"warn\">{}: no sample has been answered yet.</p>\n",
                          escape_xml(run.name));
    }
  }
  if (results.unfinished()) {
    text +=
        "<p class=\"warn\">The run is not finished: not every method has answered every sample. "
        "The section on differences compares only samples that both answered.</p>\n";
  }
  return text;
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

}  // namespace

std::string html_what_was_run(const Results& results) {
  std::string body;
  for (const RunFolder& run : results.runs()) {
    if (results.runs().size() > 1) body += fmt::format("<h3>{}</h3>\n", escape_xml(run.name));
    body += "<dl>\n";
    for (const std::string& command : commands_of(run)) {
      body += fmt::format("<dt>command</dt><dd><code>{}</code></dd>\n", escape_xml(command));
    }
    for (const auto& [key, value] : run.info.items()) {
      if (key == "command" || key == "commands" || key == "unfinished") continue;
      if (key == "tasks" || key == "settings") continue;  // they stand above; are hashes
      // Numbers such as the seed are identifiers: no commas in them.
      const std::string text = value.is_number() ? escape_xml(value.dump()) : value_html(value);
      body += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_xml(key), text);
    }
    body += "</dl>\n";
  }
  return html_section("run", "What was run", "", body);
}

std::string html_report(const Results& results) {
  const std::string body = html_glance(results) + html_frontiers(results) + html_matrix(results) +
                           html_tasks(results) + html_recall(results) + html_costs(results) +
                           html_differences(results) + html_failures(results) +
                           html_what_was_run(results);
  const std::string title = escape_xml(run_title(results.runs()));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>{0}</title>\n<style>\n{1}{2}</style>\n"
      "</head>\n<body>\n<header class=\"top\">\n<h1>{0}</h1>\n<p "
      "class=\"lede\">{3}<br/>{4}</p>\n{5}{6}</header>\n<main>\n{7}"
      "</main>\n<footer>Made by <code>longhaul report</code>.</footer>\n</body>\n</html>\n",
      title, chart_css(), page_css(), counts_line(results),
      escape_xml(run_subtitle(results.runs())), navigation(body), warnings(results), body);
}

}  // namespace longhaul
