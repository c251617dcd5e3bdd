#pragma once
// What a task's numbers are, and how all formats print them.

#include <optional>
#include <string>

#include "report/statistics/estimate.h"

namespace longhaul {

struct Metric {
  std::string name = "score";  ///< of eval/record.h

  /// Shares from 0 to 1, printed in per cent: more is better. Else nats a token: less is.
  bool share() const { return name == "score"; }
  bool better(double difference) const { return share() ? difference > 0 : difference < 0; }
  std::string text(double value) const;             ///< "96"; "2.310"
  std::string text_with_unit(double value) const;   ///< "95.7 %"; "2.3104"
  std::string difference_text(double value) const;  ///< points: "+4"; "+0.012"
  /// "+1 to +7"; empty where there is none.
  std::string interval_text(const std::optional<Interval>& of_difference) const;
  /// How it is scored, as a sentence: as run.json has it, else a general one of the metric.
  std::string rule_text(const std::string& recorded) const;
};

}  // namespace longhaul
