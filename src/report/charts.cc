#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "report/chart_labels.h"
#include "report/costs.h"
#include "report/method_text.h"
#include "report/svg/line_chart.h"
#include "report/svg/scatter.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr size_t kWidestLabel = 26;  ///< characters

std::string cost_line(const Cost& cost) {
  return fmt::format("first token {}, KV {}, {} of dense attention's pairs",
                     format_seconds(cost.first_token_seconds),
                     format_bytes(static_cast<size_t>(cost.kv_bytes)),
                     percent_text(cost.pairs_share) + " %");
}

std::string point_tooltip(const Series& s, double quality, const Cost& cost) {
  return fmt::format("{}: score {}; {}", s.method, percent_text(quality), cost_line(cost));
}

Scatter against_time(const Results& results, int64_t length) {
  Scatter chart;
  chart.title = "Score against time, " + length_title(length);
  chart.x_title = "time to the first token \xE2\x86\x90 faster";
  chart.y_title = "\xE2\x86\x91 mean score over tasks, %";
  chart.x_unit = Unit::kSeconds;
  chart.log_x = chart.frontier = true;
  const std::vector<std::string> labels = chart_labels(results, kWidestLabel);
  for (size_t i = 0; i < results.series().size(); ++i) {
    const Series& s = results.series()[i];
    const auto quality = quality_at(results, i, length);
    const Cost cost = cost_at(results, i, length);
    if (s.control || !quality || cost.first_token_seconds <= 0) continue;
    chart.points.push_back({labels[i], style_of(results, i), cost.first_token_seconds,
                            quality->mean, point_tooltip(s, quality->mean, cost), ""});
  }
  return chart;
}

Scatter against_compression(const Results& results, int64_t length) {
  constexpr double kLeast = 0.01;  // smaller values would not be visible
  Scatter chart;
  chart.title = "Score against compression, " + length_title(length);
  chart.x_title = "KV cache that is gone, % of dense attention\xE2\x80\x99s \xE2\x86\x92";
  chart.y_title = "\xE2\x86\x91 mean score over tasks, %";
  chart.x_unit = Unit::kPercent;
  const std::vector<std::string> labels = chart_labels(results, kWidestLabel);
  std::map<std::string, size_t> styles;  // settings of one method share a style
  for (size_t i = 0; i < results.series().size(); ++i) {
    const Series& s = results.series()[i];
    const auto dense = results.dense_of(s.run);
    const auto quality = quality_at(results, i, length);
    if (s.control || !quality || !dense || !quality_at(results, *dense, length)) continue;
    if (i == *dense) {
      chart.levels.emplace_back(labels[i], quality->mean);
      continue;
    }
    const Cost cost = cost_at(results, i, length);
    const double whole = cost_at(results, *dense, length).kv_bytes;
    const double gone = whole > 0 && cost.kv_bytes > 0 ? 1 - cost.kv_bytes / whole : 0;
    if (gone < kLeast) continue;
    const std::string family = fmt::format("{} {}", s.run, method_name(s.method));
    const size_t style = styles.emplace(family, style_of(results, i)).first->second;
    chart.points.push_back(
        {labels[i], style, gone, quality->mean, point_tooltip(s, quality->mean, cost), family});
  }
  return chart;
}

/// `lengths` is the axis, so it excludes 0, the samples' own lengths.
template <class Value>
void add_cost_chart(const Results& results, const std::vector<int64_t>& lengths,
                    std::vector<NamedChart>& charts, LineChart chart, const std::string& name,
                    Value&& value) {
  chart.x_title = "prompt, tokens";
  chart.log_y = true;
  for (const int64_t length : lengths) chart.x_ticks.push_back(static_cast<double>(length));
  const std::vector<std::string> labels = chart_labels(results, kWidestLabel);
  for (size_t i = 0; i < results.series().size(); ++i) {
    if (results.series()[i].control) continue;
    LineSeries line{labels[i], style_of(results, i), {}};
    for (const int64_t length : lengths) {
      const Cost cost = cost_at(results, i, length);
      if (value(cost) <= 0) continue;
      line.points.push_back(
          {static_cast<double>(length), value(cost),
           fmt::format("{}, {} tokens: {} tokens/s; {}", results.series()[i].method,
                       tokens_text(length), number_text(cost.decode_tokens_per_second),
                       cost_line(cost))});
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
  if (!chart.series.empty()) charts.push_back({name, draw(chart)});
}

}  // namespace

std::vector<NamedChart> cost_frontiers(const Results& results, int64_t length) {
  const std::string at = length == 0 ? length_text(length) : std::to_string(length);
  std::vector<NamedChart> charts;
  const Scatter time = against_time(results, length), kept = against_compression(results, length);
  if (time.points.size() > 1) charts.push_back({"score-against-time-" + at, draw(time)});
  if (!kept.points.empty()) charts.push_back({"score-against-compression-" + at, draw(kept)});
  return charts;
}

std::vector<NamedChart> cost_charts(const Results& results) {
  std::vector<NamedChart> charts;
  std::vector<int64_t> lengths = scored_lengths(results);
  std::erase(lengths, 0);
  if (lengths.size() < 2) return charts;
  LineChart chart;
  chart.title = "Time to the first token";
  chart.y_title = "reading the prompt and choosing the first token";
  chart.y_unit = Unit::kSeconds;
  add_cost_chart(results, lengths, charts, chart, "time-to-first-token",
                 [](const Cost& c) { return c.first_token_seconds; });
  chart.title = "Decoding";
  chart.y_title = "tokens a second, after the prompt";
  chart.y_unit = Unit::kPerSecond;
  add_cost_chart(results, lengths, charts, chart, "decoding",
                 [](const Cost& c) { return c.decode_tokens_per_second; });
  chart.title = "KV cache";
  chart.y_title = "bytes after the prompt";
  chart.y_unit = Unit::kBytes;
  add_cost_chart(results, lengths, charts, chart, "kv-cache",
                 [](const Cost& c) { return c.kv_bytes; });
  return charts;
}

std::vector<NamedChart> nll_charts(const Results& results, size_t variant) {
  std::vector<NamedChart> charts;
  if (results.variants()[variant].metric.share()) return charts;
  const std::vector<std::string> labels = chart_labels(results, kWidestLabel);
  for (const int64_t length : results.lengths_of(variant)) {
    LineChart chart;
    chart.title = length_title(length);
    chart.x_title = "position in the text, tokens";
    chart.y_title = "\xE2\x88\x92ln p a token (lower is better)";
    for (size_t i = 0; i < results.series().size(); ++i) {
      const Cell* cell = results.cell(variant, length, i);
      if (cell == nullptr) continue;
      std::map<int64_t, std::pair<std::vector<double>, int64_t>> stretches;
      for (const Record* r : cell->records) {
        if (!r->position || !r->error.empty()) continue;
        stretches[*r->position].first.push_back(r->score);
        stretches[*r->position].second = std::max(stretches[*r->position].second, r->reply_tokens);
      }
      LineSeries line{labels[i], style_of(results, i), {}};
      for (const auto& [begin, stretch] : stretches) {
        const int64_t end = begin + stretch.second;
        const double nll = mean_of(stretch.first);
        line.points.push_back(
            {static_cast<double>(std::max<int64_t>(end, 1)), nll,
             fmt::format("{}, tokens {}\xE2\x80\x93{}: {:.3f} nats, perplexity {}, {} text{}",
                         results.series()[i].method, with_commas(begin), with_commas(end), nll,
                         number_text(std::exp(std::min(nll, 700.0))), stretch.first.size(),
                         stretch.first.size() == 1 ? "" : "s")});
      }
      if (!line.points.empty()) chart.series.push_back(std::move(line));
    }
    if (chart.series.empty()) continue;
    charts.push_back(
        {fmt::format("{}-{}", file_part(results.variants()[variant].label), length), draw(chart)});
  }
  return charts;
}

std::vector<NamedChart> all_charts(const Results& results) {
  std::vector<NamedChart> charts;
  const auto add = [&](std::vector<NamedChart> more) {
    for (NamedChart& chart : more) charts.push_back(std::move(chart));
  };
  for (const int64_t length : scored_lengths(results)) add(cost_frontiers(results, length));
  add(cost_charts(results));
  for (size_t variant = 0; variant < results.variants().size(); ++variant) {
    add(heat_maps(results, variant));
    add(nll_charts(results, variant));
  }
  // names may differ only in characters that file names cannot contain
  std::map<std::string, int> seen;
  for (NamedChart& chart : charts) {
    if (const int copy = ++seen[chart.name]; copy > 1) chart.name += fmt::format("-{}", copy);
  }
  return charts;
}

}  // namespace longhaul
