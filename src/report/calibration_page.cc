#include "report/calibration_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html_style.h"
#include "report/svg/chart_style.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr double kNarrow = 400;  // a wider page would scale pictures up beyond their text size

std::string section_html(const CalibrationSection& section) {
  std::string html =
      fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n", escape_xml(section.id),
                  escape_xml(section.title), escape_xml(section.found));
  if (!section.charts.empty()) {
    const bool narrow = std::ranges::all_of(
        section.charts, [](const Svg& chart) { return chart.width() < kNarrow; });
    html += fmt::format("<div class=\"{}\">\n", narrow ? "maps" : "charts");
    for (const Svg& chart : section.charts) html += chart.element() + "\n";
    html += "</div>\n";
  }
  for (const ReportTable& table : section.tables) html += html_table(table);
  if (!section.note.empty()) {
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_xml(section.note));
  }
  return html + "</section>\n";
}

}  // namespace

std::string html_calibration(const CalibrationPage& page) {
  std::string links, body, warnings;
  for (const CalibrationSection& section : page.sections) {
    links +=
        fmt::format("<a href=\"#{}\">{}</a>\n", escape_xml(section.id), escape_xml(section.title));
    body += section_html(section);
  }
  for (const std::string& warning : page.warnings) {
    warnings += fmt::format("<p class=\"warn\">{}</p>\n", escape_xml(warning));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; "
      "style-src &#39;unsafe-inline&#39;\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>\n{1}{2}</style>\n</head>\n<body>\n<header class=\"top\">\n"
      "<h1>{0}</h1>\n<p class=\"lede\">{3}</p>\n{4}<nav aria-label=\"Sections\">\n{5}</nav>\n"
      "</header>\n<main>\n{6}</main>\n<footer>Made by <code>longhaul calibrate "
      "all</code>.</footer>\n</body>\n</html>\n",
      escape_xml(page.title), chart_css(), page_css(), escape_xml(page.subtitle), warnings, links,
      body);
}

}  // namespace longhaul
