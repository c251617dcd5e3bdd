#pragma once
// The samples that searches ask: tasks and lengths in turn, each time another one.

#include <optional>
#include <string>
#include <vector>

#include "eval/compose.h"
#include "eval/data.h"
#include "eval/task.h"

namespace longhaul {

struct SampleRequest {
  const std::vector<std::string>& tasks;  ///< of `longhaul eval`
  const std::vector<int64_t>& lengths;    ///< tokens of a prompt and its reply
  uint64_t seed = 1;
};

/// Number `index` of the tasks and lengths in turn, lengths first. UserError where the length is
/// too short.
Sample asked_sample(const SampleRequest& request, int64_t index, const PromptComposer& composer,
                    const EvalData& data);

/// Number `index` of one task, whose depths go round in ten samples.
Sample numbered_sample(const TaskInfo& task, int64_t index, int64_t length, uint64_t seed,
                       const PromptComposer& composer, const EvalData& data);

/// What tells two templates apart, for the settings of a state file.
std::string chat_text(const std::optional<ChatTemplate>& chat);

}  // namespace longhaul
