// The section that says which differences from dense attention are real.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";

std::string difference_cell(const Results& results, const Difference& d, bool first) {
  const PairedDifference& p = d.paired;
  const Metric& metric = results.variants()[d.variant].metric;
  const bool more = metric.share();  // is better
  const std::string tooltip = fmt::format(
      "{}: {} against {}: {} (95 % interval {}), p {} after Holm's correction {}, {}, {} better, "
      "{} worse; {}",
      results.variants()[d.variant].label, results.series()[d.b].method,
      results.series()[d.a].method, metric.difference_text(p.difference),
      p.interval ? metric.interval_text(p.interval) : "unknown", p_value_text(p.p),
      p_value_text(d.p_holm), counted(p.n, "pair"), more ? p.higher : p.lower,
      more ? p.lower : p.higher, p.test);
  std::string classes =
      d.real() ? (metric.better(p.difference) ? "real good" : "real bad") : "unsure";
  if (first) classes += " first";
  const double tint = more ? std::min(46.0, 12 + 60 * std::abs(p.difference)) : 30;
  return fmt::format("<td class=\"{}\" style=\"--a:{:.0f}\" title=\"{}\">{}<small>{}</small></td>",
                     classes, tint, escape_xml(tooltip), metric.difference_text(p.difference),
                     metric.interval_text(p.interval));
}

}  // namespace

std::string html_differences(const Results& results) {
  const Comparison comparison = compare_series(results, pairs_against_dense(results));
  if (comparison.over_lengths.empty()) return "";
  std::map<std::pair<size_t, size_t>, const Difference*> found;  // series, variant
  std::vector<size_t> variants, rows;
  for (const Difference& d : comparison.over_lengths) {
    found[{d.b, d.variant}] = &d;
    if (std::ranges::find(variants, d.variant) == variants.end()) variants.push_back(d.variant);
    if (std::ranges::find(rows, d.b) == rows.end()) rows.push_back(d.b);
  }
  std::sort(variants.begin(), variants.end());
  std::string head = "<tr><th>method</th>";
  for (const size_t v : variants) {
    head += fmt::format("<th class=\"num\">{}</th>", escape_xml(results.variants()[v].label));
  }
  std::string body;
  for (const size_t series : rows) {
    body += "<tr>" + html_row_head(results.series()[series]);
    for (const size_t v : variants) {
      const auto it = found.find({series, v});
      body += it == found.end() ? fmt::format("<td class=\"none\">{}</td>", kDash)
                                : difference_cell(results, *it->second, false);
    }
    body += "</tr>\n";
  }
  const size_t count = comparison.over_lengths.size();
  const std::string comparisons = count == 1 ? "comparison" : fmt::format("{} comparisons", count);
  return html_section("differences", "Which differences from dense attention are real",
                      fmt::format("Points of the score over all lengths that both read, on the "
                                  "same samples, with the 95 % interval of the "
                                  "difference (perplexity: nats). Coloured: p below 0.05 after "
                                  "Holm\xE2\x80\x99s correction for the {} "
                                  "of this table; grey: may be chance. The tests are "
                                  "under the pointer; <code>longhaul report "
                                  "--against dense</code> prints them by length.",
                                  comparisons),
                      html_table("tight", head + "</tr>", body, ""));
}

}  // namespace longhaul
