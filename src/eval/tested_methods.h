#pragma once
// The methods and baselines that a run compares.

#include <span>
#include <string>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// A method, or dense attention on a modified prompt.
struct TestedMethod {
  enum class Reads { kWhole, kQuestionOnly, kWithoutMiddle };
  std::string name;
  SessionOptions options;
  Reads reads = Reads::kWhole;
  bool dense = false;
  bool shares = false;  ///< begins like dense attention
  bool shown_evidence = false;
};

/// The settings with each method resolved by this model's profiles, and with default lengths if
/// none were given. UserError for a method given twice, or one that cannot even read a prompt of
/// the shortest length (a few tokens, if every task has its own lengths). Failures with longer
/// prompts are stored in their records.
EvalSettings for_model(EvalSettings settings, const ModelShape& shape,
                       std::span<const PlannedTask> tasks);

/// For the result of for_model(): dense attention, whose prefills others share, then the other
/// methods in order, then the baselines.
std::vector<TestedMethod> tested_methods_of(const EvalSettings& settings, const ModelShape& shape);

/// Whether the contender runs this sample. Baselines skip perplexity samples, because these have no
/// question.
bool concerns(const TestedMethod& tested_method, const Sample& sample);

}  // namespace longhaul
