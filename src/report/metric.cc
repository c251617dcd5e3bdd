#include "report/metric.h"

#include <fmt/format.h>

#include <cmath>

#include "report/text.h"

namespace longhaul {

std::string Metric::text(double value) const {
  return share() ? percent_text(value) : fmt::format("{:.3f}", value);
}

std::string Metric::text_with_unit(double value) const {
  return share() ? fmt::format("{:.1f} %", 100 * value) : fmt::format("{:.4f}", value);
}

std::string Metric::difference_text(double value) const {
  if (share()) return signed_points(value);
  return fmt::format("{}{:.3f}", value < 0 ? "\xE2\x88\x92" : "+", std::abs(value));
}

std::string Metric::interval_text(const std::optional<Interval>& of_difference) const {
  if (!of_difference) return "";
  return difference_text(of_difference->low) + " to " + difference_text(of_difference->high);
}

std::string Metric::rule_text(const std::string& recorded) const {
  if (!recorded.empty()) return full_stop(recorded);
  return share() ? "rule not recorded."
                 : "mean \xE2\x88\x92ln p of a token, nats; lower is better.";
}

}  // namespace longhaul
