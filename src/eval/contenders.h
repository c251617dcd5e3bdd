#pragma once
// What a run compares: attention methods, and controls.

#include <span>
#include <string>
#include <vector>

#include "eval/run_settings.h"
#include "eval/sample.h"

namespace longhaul {

/// A method, or dense attention on a changed prompt.
struct Contender {
  enum class Reads { kWhole, kQuestionOnly, kWithoutMiddle };
  std::string name;
  SessionOptions options;
  Reads reads = Reads::kWhole;
  bool dense = false;
  bool shares = false;  ///< begins like dense attention
  bool shown_evidence = false;
};

/// The settings with each method as this model's profiles make it, and with lengths where none were
/// given. UserError: a method that is given twice, or that could not even read a prompt of the
/// shortest length (of a few tokens, where every task has lengths of its own). What it refuses of
/// longer ones is told in their records.
EvalSettings for_model(EvalSettings settings, const ModelShape& shape,
                       std::span<const PlannedTask> tasks);

/// Of for_model()'s settings: dense attention, from whose readings others go on, then the other
/// methods in their order, then the controls.
std::vector<Contender> contenders_of(const EvalSettings& settings, const ModelShape& shape);

/// Whether it is asked this sample. Controls take no perplexity samples: nothing is asked.
bool concerns(const Contender& contender, const Sample& sample);

}  // namespace longhaul
