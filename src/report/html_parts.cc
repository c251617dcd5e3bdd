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
std::string score_tooltip(const Results& results, const CellKey& key, const Cell& cell) {
  const Series& s = results.series()[key.series];
  const TaskVariant& v = results.variants()[key.variant];
  const bool nll = v.metric == "nll";
  const auto number = [&](double value) {
    return nll ? fmt::format("{:.3f}", value) : percent_text(value);
  };
  std::string text = fmt::format("{}, {}, {}: {}", v.label, length_text(key.length), s.method,
                                 number(cell.score.mean));
  if (const auto& i = cell.score.interval) {
    text += fmt::format(", 95 % interval {} to {}", number(i->low), number(i->high));
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

std::string html_score_cell(const Results& results, const CellKey& key, bool with_interval,
                            bool first_of_group) {
  const Cell* cell = results.cell(key.variant, key.length, key.series);
  const char* first = first_of_group ? " first" : "";
  if (cell == nullptr)
    return fmt::format("<td class=\"none{}\" title=\"not asked\">{}</td>", first, kDash);
  const std::string tooltip = escape_xml(score_tooltip(results, key, *cell));
  if (cell->score.n == 0) {
    return fmt::format("<td class=\"none{}\" title=\"{}\">failed</td>", first, tooltip);
  }
  const bool nll = results.variants()[key.variant].metric == "nll";
  const auto number = [&](double value) {
    return nll ? fmt::format("{:.3f}", value) : percent_text(value);
  };
  std::string tint = nll ? "class=\"" : html_tint(cell->score.mean);
  if (nll) {
    tint = fmt::format("class=\"num{}\"", first);
  } else {
    tint.insert(tint.find('"', 7), first);
  }
  std::string inside = number(cell->score.mean);
  if (cell->failed > 0) inside += "*";
  if (with_interval) {
    if (const auto& i = cell->score.interval) {
      inside += fmt::format("<small>{}{}{}</small>", number(i->low), kDash, number(i->high));
    }
  }
  return fmt::format("<td {} title=\"{}\">{}</td>", tint, tooltip, inside);
}

std::string html_charts(const std::vector<NamedChart>& charts, const std::string& classes) {
  if (charts.empty()) return "";
  std::string out = fmt::format("<div class=\"{}\">\n", classes);
  for (const NamedChart& chart : charts) out += chart.svg.element();
  return out + "</div>\n";
}

}  // namespace longhaul
