#pragma once
// Selects samples of evaluation tasks (`longhaul eval`) for `longhaul calibrate`. Tasks and lengths
// alternate, and every sample is different.

#include <optional>
#include <string>
#include <vector>

#include "eval/compose.h"
#include "eval/data.h"
#include "eval/task.h"

namespace longhaul {

struct SampleRequest {
  const std::vector<std::string>& tasks;  ///< evaluation tasks
  const std::vector<int64_t>& lengths;    ///< lengths of prompt and reply together, in tokens
  uint64_t seed = 1;
};

/// Returns sample number `index`. Consecutive samples have different lengths. After all lengths
/// have been used with one task, the next task follows. Throws UserError if the length is too short
/// for the task.
Sample asked_sample(const SampleRequest& request, int64_t index, const PromptComposer& composer,
                    const EvalData& data);

/// Returns sample number `index` of one task. The depth (relative position) of the answer in the
/// text repeats after ten samples.
Sample numbered_sample(const TaskInfo& task, int64_t index, int64_t length, uint64_t seed,
                       const PromptComposer& composer, const EvalData& data);

/// Returns a text that identifies a chat template. It is a part of StateKey::settings.
std::string chat_text(const std::optional<ChatTemplate>& chat);

}  // namespace longhaul
