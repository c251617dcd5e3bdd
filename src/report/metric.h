#pragma once
// Defines Metric, the kind of score that a task has. It determines how all formats of the report
// print scores.

#include <optional>
#include <string>

#include "report/statistics/estimate.h"

namespace longhaul {

struct Metric {
  std::string name = "score";  ///< Record::metric (eval/record.h)

  /// Returns whether scores are shares from 0 to 1. Shares are printed in per cent, and a higher
  /// share is better. Other scores are nats per token, of which a lower number is better.
  bool share() const { return name == "score"; }
  bool better(double difference) const { return share() ? difference > 0 : difference < 0; }
  std::string text(double value) const;            ///< returns "96" or "2.310", for example
  std::string text_with_unit(double value) const;  ///< returns "95.7 %" or "2.3104", for example
  /// Returns a difference of two scores with its sign, such as "+4" (percentage points) or
  /// "+0.012".
  std::string difference_text(double value) const;
  /// Returns the interval of such a difference, such as "+1 to +7", or an empty string if there is
  /// none.
  std::string interval_text(const std::optional<Interval>& of_difference) const;
  /// Returns a sentence that describes the scoring rule of a task. It is `recorded`, the sentence
  /// in run.json, or a general sentence about the metric if `recorded` is empty.
  std::string rule_text(const std::string& recorded) const;
};

}  // namespace longhaul
