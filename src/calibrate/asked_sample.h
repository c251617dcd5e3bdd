#pragma once
// Samples for searches: tasks and lengths in turn, each time a different sample.

#include <optional>
#include <string>
#include <vector>

#include "eval/compose.h"
#include "eval/data.h"
#include "eval/task.h"

namespace longhaul {

struct SampleRequest {
  const std::vector<std::string>& tasks;  ///< tasks of `longhaul eval`
  const std::vector<int64_t>& lengths;    ///< tokens of a prompt and its reply
  uint64_t seed = 1;
};

/// Sample `index` in the sequence of tasks and lengths, lengths first. UserError if the length is
/// too short.
Sample asked_sample(const SampleRequest& request, int64_t index, const PromptComposer& composer,
                    const EvalData& data);

/// Sample `index` of one task; its depths repeat after ten samples.
Sample numbered_sample(const TaskInfo& task, int64_t index, int64_t length, uint64_t seed,
                       const PromptComposer& composer, const EvalData& data);

/// Identifies a template within the settings of a state file.
std::string chat_text(const std::optional<ChatTemplate>& chat);

}  // namespace longhaul
