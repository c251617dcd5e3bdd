#pragma once
// Lists the methods and baselines that a run compares.

#include <span>
#include <string>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// A method that a run tests. A baseline is dense attention with a modified prompt.
struct TestedMethod {
  /// The part of the prompt that is processed.
  enum class Reads { kWhole, kQuestionOnly, kWithoutMiddle };
  std::string name;
  SessionOptions options;
  Reads reads = Reads::kWhole;
  bool dense = false;  ///< whether the attention is dense
  /// Whether its prefill is dense at first, so that a dense prefill can be shared.
  bool shares = false;
  /// Whether the blocks with the answer are added to the selected blocks.
  bool shown_evidence = false;
};

/// Returns the settings with each method resolved by the profiles of the model. Sets default
/// lengths if none were given. Throws UserError if a method is given twice, or if a method rejects
/// a prompt of the shortest length. If all tasks have their own lengths, the shortest length is a
/// few tokens. If a method fails with longer prompts, the failure is stored in the records.
EvalSettings for_model(EvalSettings settings, const ModelShape& shape,
                       std::span<const PlannedTask> tasks);

/// Returns the tested methods. `settings` is the result of for_model(). Dense attention comes
/// first, because other methods continue from its prefills. The other methods follow in order, and
/// then the baselines.
std::vector<TestedMethod> tested_methods_of(const EvalSettings& settings, const ModelShape& shape);

/// Returns whether the tested method runs this sample. Baselines do not run perplexity samples,
/// because these have no question.
bool concerns(const TestedMethod& tested_method, const Sample& sample);

}  // namespace longhaul
