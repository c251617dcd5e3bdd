// What went wrong: answers that were never given, and a look at the wrong ones.

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr size_t kMostErrors = 200, kWrongPerCell = 2, kMostWrong = 300, kLongestText = 160;

std::string sample_cells(const Results& results, const CellKey& key, const Record& r) {
  return fmt::format("{}<td class=\"text\">{}</td><td>{}</td><td class=\"text\">{}</td>",
                     html_row_head(results.series()[key.series]),
                     escape_xml(results.variants()[key.variant].label), length_text(key.length),
                     escape_xml(shortened(r.sample_id(), 40)));
}

bool blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string errors_table(const Results& results, size_t& count) {
  std::string rows;
  for (const auto& [key, cell] : results.cells()) {
    for (const Record* r : cell.records) {
      if (r->error.empty() || !r->begins_answer() || ++count > kMostErrors) continue;
      rows += fmt::format("<tr>{}<td class=\"text wrap\">{}</td></tr>\n",
                          sample_cells(results, key, *r), escape_xml(shortened(r->error, 300)));
    }
  }
  if (rows.empty()) return "";
  return html_table("errors",
                    "<tr><th>method</th><th>task</th><th "
                    "class=\"num\">length</th><th>sample</th><th>why</th></tr>",
                    rows, "");
}

std::string wrong_table(const Results& results, size_t& count) {
  std::string rows;
  for (const auto& [key, cell] : results.cells()) {
    if (results.series()[key.series].control || !results.variants()[key.variant].metric.share())
      continue;
    size_t shown = 0;
    for (const Record* r : cell.records) {
      if (!r->error.empty() || r->score >= 0.5) continue;
      ++count;
      if (shown++ >= kWrongPerCell || count > kMostWrong) continue;
      std::string expected;
      for (const std::string& answer : r->expected)
        expected += (expected.empty() ? "" : " | ") + answer;
      rows += fmt::format(
          "<tr>{}<td>{}</td><td class=\"text wrap\">{}</td><td class=\"text wrap\">{}</td></tr>\n",
          sample_cells(results, key, *r), percent_text(r->score),
          escape_xml(shortened(expected, kLongestText)),
          blank(r->reply) ? "(nothing)" : escape_xml(shortened(r->reply, kLongestText)));
    }
  }
  if (rows.empty()) return "";
  return html_table("wrong",
                    "<tr><th>method</th><th>task</th><th class=\"num\">length</th><th>sample</th>"
                    "<th class=\"num\">score</th><th>expected</th><th>reply</th></tr>",
                    rows, "");
}

}  // namespace

std::string html_failures(const Results& results) {
  size_t errors = 0, wrong = 0;
  const std::string error_rows = errors_table(results, errors),
                    wrong_rows = wrong_table(results, wrong);
  std::string body;
  if (errors > 0) {
    body += fmt::format(
                "<p>{} answer{} never given{}.</p>\n", errors, errors == 1 ? " was" : "s were",
                errors > kMostErrors ? fmt::format("; the first {} of them", kMostErrors) : "") +
            error_rows;
  } else {
    body += "<p>Every sample was answered.</p>\n";
  }
  if (wrong > 0) {
    body += fmt::format(
        "<details><summary>Wrong replies: {} score below 50; up to {} of each "
        "cell</summary>\n{}</details>\n",
        with_commas(static_cast<int64_t>(wrong)), kWrongPerCell, wrong_rows);
  }
  return html_section("failures", "Failures", "", body);
}

}  // namespace longhaul
