#pragma once
// Selects samples of the tasks of `longhaul eval` for the searches of `longhaul calibrate`. Tasks
// and lengths are used in turn, and each use gives a different sample.

#include <optional>
#include <string>
#include <vector>

#include "eval/compose.h"
#include "eval/data.h"
#include "eval/task.h"

namespace longhaul {

struct SampleRequest {
  const std::vector<std::string>& tasks;  ///< tasks of `longhaul eval`
  const std::vector<int64_t>& lengths;    ///< tokens of a prompt and its reply together
  uint64_t seed = 1;
};

/// Returns sample `index`. The length changes with every index, and the task changes after all
/// lengths have been used. Throws UserError if the length is too short for the task.
Sample asked_sample(const SampleRequest& request, int64_t index, const PromptComposer& composer,
                    const EvalData& data);

/// Returns sample `index` of one task. The depths of the answers repeat after ten samples.
Sample numbered_sample(const TaskInfo& task, int64_t index, int64_t length, uint64_t seed,
                       const PromptComposer& composer, const EvalData& data);

/// Returns a text that identifies a chat template in the settings of a state file.
std::string chat_text(const std::optional<ChatTemplate>& chat);

}  // namespace longhaul
