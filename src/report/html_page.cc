#include "report/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "report/html_script.h"
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
      {"lengths", "Length by length"},
      {"tasks", "Task by task"},
      {"costs", "Cost by length"},
      {"recall", "What the replies could see"},
      {"differences", "Real differences"},
      {"failures", "Failures"},
      {"run", "What was run"}};
  std::string links;
  for (const auto& [id, title] : kLinks) {
    if (body.find(fmt::format("<section id=\"{}\">", id)) == std::string::npos) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", id, title);
  }
  return "<nav aria-label=\"Sections\">\n" + links +
         "</nav>\n<p class=\"tools\" hidden=\"hidden\"><label>Show only methods named "
         "<input id=\"filter\" type=\"search\" placeholder=\"snapkv, duo\"/></label></p>\n";
}

std::string warnings(const Results& results) {
  std::string text;
  const auto warn = [&](const std::string& words) {
    text += fmt::format("<p class=\"warn\">{}</p>\n", escape_xml(words));
  };
  for (const RunFolder& run : results.runs()) {
    if (run.torn) {
      warn(run.name +
           ": the last line of samples.jsonl is cut off: the run was stopped, or is still under "
           "way.");
    }
    if (run.records.empty()) warn(run.name + ": no sample has been answered yet.");
  }
  if (results.unfinished()) {
    warn(
        "The run is not finished: not every method has answered every sample. The section on "
        "differences compares only samples that both answered.");
  }
  return text;
}

/// Forbids all requests, whatever the records contain.
constexpr const char* kPolicy =
    "default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src "
    "&#39;unsafe-inline&#39;";

}  // namespace

std::string html_report(const Results& results) {
  const std::string body = html_sections(results);
  const std::string title = escape_xml(run_title(results.runs()));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{7}\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>{0}</title>\n<style>\n{1}{2}</style>\n"
      "</head>\n<body>\n<header class=\"top\">\n<h1>{0}</h1>\n<p "
      "class=\"lede\">{3}<br/>{4}</p>\n{5}{6}</header>\n<main>\n{8}"
      "</main>\n<footer>Made by <code>longhaul report</code>.</footer>\n"
      "<script>\n{9}</script>\n</body>\n</html>\n",
      title, chart_css(), page_css(), counts_line(results),
      escape_xml(run_subtitle(results.runs())), warnings(results),
      html_verdict(results) + navigation(body), kPolicy, body, page_script());
}

}  // namespace longhaul
