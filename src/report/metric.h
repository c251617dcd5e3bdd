#pragma once
// The kind of numbers that score a task, and how all output formats print them.

#include <optional>
#include <string>

#include "report/statistics/estimate.h"

namespace longhaul {

struct Metric {
  std::string name = "score";  ///< Record::metric in eval/record.h

  /// true: shares from 0 to 1, printed in per cent, higher is better; false: nats per token, lower
  /// is better.
  bool share() const { return name == "score"; }
  bool better(double difference) const { return share() ? difference > 0 : difference < 0; }
  std::string text(double value) const;             ///< "96"; "2.310"
  std::string text_with_unit(double value) const;   ///< "95.7 %"; "2.3104"
  std::string difference_text(double value) const;  ///< points: "+4"; "+0.012"
  /// Returns an interval such as "+1 to +7", or an empty string if there is none.
  std::string interval_text(const std::optional<Interval>& of_difference) const;
  /// Returns the scoring rule as a sentence. It is the rule recorded in run.json, or a general
  /// sentence about the metric.
  std::string rule_text(const std::string& recorded) const;
};

}  // namespace longhaul
