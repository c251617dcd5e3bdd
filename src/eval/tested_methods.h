#pragma once
// Lists the methods and baselines that a run compares.

#include <span>
#include <string>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// A tested method: a method, or a baseline, which is dense attention on a modified prompt.
struct TestedMethod {
  enum class Reads { kWhole, kQuestionOnly, kWithoutMiddle };
  std::string name;
  SessionOptions options;
  Reads reads = Reads::kWhole;
  bool dense = false;
  bool shares = false;  ///< prefills as dense attention does, so the prefill can be shared
  bool shown_evidence = false;
};

/// Returns the settings with each method resolved by the model's profiles, and with default lengths
/// if none were given. Throws UserError if a method is given twice, or if a method cannot read a
/// prompt of the shortest length. If every task has its own lengths, the shortest length is a few
/// tokens. If a method fails with longer prompts, the failures are stored in the records.
EvalSettings for_model(EvalSettings settings, const ModelShape& shape,
                       std::span<const PlannedTask> tasks);

/// Returns the tested methods for settings from for_model(). Dense attention comes first, because
/// other methods continue from its prefills. The other methods follow in order, then the baselines.
std::vector<TestedMethod> tested_methods_of(const EvalSettings& settings, const ModelShape& shape);

/// Returns whether the tested method runs this sample. Baselines skip perplexity samples, because
/// perplexity samples have no question.
bool concerns(const TestedMethod& tested_method, const Sample& sample);

}  // namespace longhaul
