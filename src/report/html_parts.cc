#include "report/html_parts.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "report/svg/chart_style.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";

/// What the pointer shows over a score.
std::string score_tooltip(const Metric& metric, const Cell& cell, const std::string& where) {
  std::string text = where + ": " + metric.text(cell.score.mean);
  if (const auto& i = cell.score.interval) {
    text += fmt::format(", 95 % interval {} to {}", metric.text(i->low), metric.text(i->high));
  }
  text += fmt::format(", n {}", cell.score.n);
  if (cell.failed > 0) text += fmt::format(", {} without an answer", cell.failed);
  return text;
}

}  // namespace

std::string html_section(const std::string& id, const std::string& title, const std::string& intro,
                         const std::string& body) {
  if (body.empty()) return "";
  const std::string lead = intro.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", intro);
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}{}</section>\n", id, escape_xml(title),
                     lead, body);
}

std::string html_table(const std::string& classes, const std::string& head,
                       const std::string& methods, const std::string& controls) {
  std::string out = fmt::format(
      "<div class=\"scroll\"><table class=\"{}\"><thead>{}</thead>\n<tbody>\n{}</tbody>\n", classes,
      head, methods);
  if (!controls.empty()) out += fmt::format("<tbody class=\"apart\">\n{}</tbody>\n", controls);
  return out + "</table></div>\n";
}

std::string html_row_head(const Series& series) {
  const std::string tooltip =
      series.label == series.method ? "" : fmt::format(" title=\"{}\"", escape_xml(series.method));
  std::string label;  // may break behind the parts of a method's options
  for (const char c : escape_xml(series.label)) {
    label += c;
    if (c == ':' || c == ',') label += "<wbr/>";
  }
  return fmt::format("<th scope=\"row\"{}>{}</th>", tooltip, label);
}

std::string html_tint(double score) {
  constexpr double kStrongest = 46;  // per cent: the text on it stays readable, light and dark
  const ScoreFill fill = score_fill(score);
  return fmt::format("class=\"{}\" style=\"--a:{:.0f}\"", fill.classes, kStrongest * fill.opacity);
}

std::string html_score_cell(const Metric& metric, const Cell* cell, const std::string& where,
                            bool with_interval, bool apart) {
  const char* first = apart ? " first" : "";
  if (cell == nullptr)
    return fmt::format("<td class=\"none{}\" title=\"not asked\">{}</td>", first, kDash);
  const std::string tooltip = escape_xml(score_tooltip(metric, *cell, where));
  if (cell->score.n == 0) {
    return fmt::format("<td class=\"none{}\" title=\"{}\">failed</td>", first, tooltip);
  }
  std::string tint = fmt::format("class=\"num{}\"", first);
  if (metric.share()) {
    tint = html_tint(cell->score.mean);
    tint.insert(tint.find('"', 7), first);
  }
  std::string inside = metric.text(cell->score.mean);
  if (cell->failed > 0) inside += "*";
  if (with_interval) {
    if (const auto& i = cell->score.interval) {
      inside +=
          fmt::format("<small>{}{}{}</small>", metric.text(i->low), kDash, metric.text(i->high));
    }
  }
  return fmt::format("<td {} title=\"{}\">{}</td>", tint, tooltip, inside);
}

std::string html_score_cell(const Results& results, const CellKey& key, bool with_interval,
                            bool apart) {
  const TaskVariant& v = results.variants()[key.variant];
  const std::string where = fmt::format("{}, {}, {}", v.label, length_text(key.length),
                                        results.series()[key.series].method);
  return html_score_cell(v.metric, results.cell(key.variant, key.length, key.series), where,
                         with_interval, apart);
}

std::string html_charts(const std::vector<NamedChart>& charts, const std::string& classes) {
  if (charts.empty()) return "";
  std::string out = fmt::format("<div class=\"{}\">\n", classes);
  for (const NamedChart& chart : charts) out += chart.svg.element();
  return out + "</div>\n";
}

}  // namespace longhaul
