#include "report/verdict.h"

#include <fmt/format.h>

#include <functional>

#include "base/units.h"
#include "report/costs.h"
#include "report/text.h"

namespace longhaul {
namespace {

struct TestedMethod {
  std::string label;
  Estimate quality;
  Cost cost;
};

/// "2.3×", "17×".
std::string times(double factor) {
  return fmt::format("{:.{}f}\xC3\x97", factor, factor < 9.95 ? 1 : 0);
}

using Value = std::function<double(const Cost&)>;  ///< higher is better; 0: unknown

/// The best of `within` by `value`, if it is better than the reference.
Verdict::Pick best_of(const char* title, const std::vector<TestedMethod>& within,
                      const TestedMethod& measure, const Value& value, const char* more,
                      const std::function<std::string(const Cost&)>& text) {
  const TestedMethod* best = nullptr;
  for (const TestedMethod& c : within) {
    if (value(c.cost) > (best == nullptr ? 0 : value(best->cost))) best = &c;
  }
  const double before = value(measure.cost);
  if (best == nullptr || before <= 0 || value(best->cost) <= before) {
    return {title, "", "none within the interval beats " + measure.label};
  }
  return {
      title, best->label,
      fmt::format("{}, {} {} {}; score {} %", text(best->cost), times(value(best->cost) / before),
                  more, measure.label, percent_text(best->quality.mean))};
}

std::string measure_text(int64_t length, const TestedMethod& m) {
  const std::string interval =
      m.quality.interval
          ? fmt::format("95 % interval {} to {}, ", percent_text(m.quality.interval->low),
                        percent_text(m.quality.interval->high))
          : "";
  std::string text =
      fmt::format("{}: {} scores {} % ({}{}). ", length_title(length), m.label,
                  percent_text(m.quality.mean), interval, counted(m.quality.n, "answer"));
  if (m.cost.first_token_seconds <= 0) return text;
  return text + fmt::format("Its first token takes {}, it writes {} tokens/s and keeps {}.",
                            format_seconds(m.cost.first_token_seconds),
                            number_text(m.cost.decode_tokens_per_second),
                            format_bytes(static_cast<size_t>(m.cost.kv_bytes)));
}

Verdict::Pick all_within(const std::vector<TestedMethod>& within, size_t others) {
  std::string names;
  for (const TestedMethod& c : within) names += (names.empty() ? "" : ", ") + c.label;
  return {"Within the interval", fmt::format("{} of {} methods", within.size(), others),
          shortened(names, 400)};
}

}  // namespace

std::vector<Verdict> verdicts(const Results& results, int64_t length) {
  std::vector<Verdict> all;
  for (size_t run = 0; run < results.runs().size(); ++run) {
    const auto measured = measure_at(results, run, length);
    if (!measured) continue;
    const auto tested_method = [&](size_t i) {
      return TestedMethod{results.series()[i].label, *quality_at(results, i, length),
                          cost_at(results, i, length)};
    };
    const TestedMethod measure = tested_method(*measured);
    const double low =
        measure.quality.interval ? measure.quality.interval->low : measure.quality.mean;
    std::vector<TestedMethod> within;
    size_t others = 0;
    for (size_t i = 0; i < results.series().size(); ++i) {
      const Series& s = results.series()[i];
      if (s.run != run || s.control || i == *measured || !quality_at(results, i, length)) continue;
      ++others;
      const TestedMethod other = tested_method(i);
      if (other.quality.mean >= low) within.push_back(other);
    }
    if (others == 0) continue;
    const Value first = [](const Cost& c) {
      return c.first_token_seconds > 0 ? 1 / c.first_token_seconds : 0;
    };
    const Value reply = [](const Cost& c) { return c.decode_tokens_per_second; };
    const Value small = [](const Cost& c) { return c.kv_bytes > 0 ? 1 / c.kv_bytes : 0; };
    all.push_back(
        {results.runs().size() > 1 ? results.runs()[run].name : "",
         measure_text(length, measure),
         {best_of("Fastest to the first token", within, measure, first, "as fast as",
                  [](const Cost& c) { return format_seconds(c.first_token_seconds); }),
          best_of(
              "Fastest reply", within, measure, reply, "as fast as",
              [](const Cost& c) { return number_text(c.decode_tokens_per_second) + " tokens/s"; }),
          best_of("Smallest", within, measure, small, "smaller than",
                  [](const Cost& c) { return format_bytes(static_cast<size_t>(c.kv_bytes)); }),
          all_within(within, others)}});
  }
  return all;
}

}  // namespace longhaul
