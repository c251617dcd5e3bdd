#pragma once
// The metric that scores a task, and how all output formats print its values.

#include <optional>
#include <string>

#include "report/statistics/estimate.h"

namespace longhaul {

struct Metric {
  std::string name = "score";  ///< Record::metric (eval/record.h)

  /// Returns whether values are shares from 0 to 1, which are printed in per cent and of which
  /// higher ones are better. Otherwise values are nats per token, of which lower ones are better.
  bool share() const { return name == "score"; }
  bool better(double difference) const { return share() ? difference > 0 : difference < 0; }
  std::string text(double value) const;            ///< returns "96" or "2.310", for example
  std::string text_with_unit(double value) const;  ///< returns "95.7 %" or "2.3104", for example
  /// Returns a difference in points, such as "+4" or "+0.012".
  std::string difference_text(double value) const;
  /// Returns an interval such as "+1 to +7", or an empty string if there is none.
  std::string interval_text(const std::optional<Interval>& of_difference) const;
  /// Returns the scoring rule as a sentence: the one recorded in run.json, or a general sentence
  /// about the metric.
  std::string rule_text(const std::string& recorded) const;
};

}  // namespace longhaul
