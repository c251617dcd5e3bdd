#pragma once
// Lists the methods and baselines that a run compares.

#include <span>
#include <string>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// A method or baseline that a run tests. Most baselines are dense attention with only a part of
/// the prompt.
struct TestedMethod {
  /// The part of the prompt that is prefilled.
  enum class Reads { kWhole, kQuestionOnly, kWithoutMiddle };
  std::string name;
  SessionOptions options;
  Reads reads = Reads::kWhole;
  bool dense = false;  ///< whether the attention is dense
  /// Whether its prefill begins with dense attention, so that it can continue from a shared dense
  /// prefill.
  bool shares = false;
  /// Whether the blocks that contain the answer are added to those that the method selects
  /// (EvalSettings::inject_evidence).
  bool shown_evidence = false;
};

/// Returns the settings, adapted to the model. Options that a method's profile for this model
/// defines are set, and so are default lengths if the user gave none. Throws UserError if a method
/// is given twice, or if a method rejects a prompt of the shortest length. If all tasks have their
/// own lengths, a prompt of a few tokens is used for this check. If a method rejects a longer
/// prompt, the run stores the error in the record.
EvalSettings for_model(EvalSettings settings, const ModelShape& shape,
                       std::span<const PlannedTask> tasks);

/// Returns the tested methods. `settings` is the result of for_model(). Dense attention comes
/// first, because other methods continue from its prefills. The other methods follow in order, and
/// then the baselines.
std::vector<TestedMethod> tested_methods_of(const EvalSettings& settings, const ModelShape& shape);

/// Returns whether the tested method runs this sample. Baselines do not run samples with
/// Sample::perplexity, because they have no question.
bool concerns(const TestedMethod& tested_method, const Sample& sample);

}  // namespace longhaul
