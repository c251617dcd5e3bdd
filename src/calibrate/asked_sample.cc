#include "calibrate/asked_sample.h"

#include "base/nth.h"
#include "base/random.h"

namespace longhaul {

Sample numbered_sample(const TaskInfo& task, int64_t index, int64_t length, uint64_t seed,
                       const PromptComposer& composer, const EvalData& data) {
  TaskRequest made;
  made.length = length;
  made.samples = static_cast<int>(index % 10) + 1;
  made.seed = SplitMix64::mixed(seed + static_cast<uint64_t>(index / 10)) >> 11;
  made.data = &data;
  made.prompt_tokens = [&](const Sample& sample) { return composer.most_tokens(sample); };
  return task.make(made).back();
}

Sample asked_sample(const SampleRequest& request, int64_t index, const PromptComposer& composer,
                    const EvalData& data) {
  const int64_t lengths = std::ssize(request.lengths), tasks = std::ssize(request.tasks);
  const TaskInfo& task = eval_task(nth(request.tasks, index / lengths % tasks));
  // Depths continue from task to task. They shift if a round of tasks and lengths is also a round
  // of depths.
  const int64_t number = index + index / (lengths * tasks);
  return numbered_sample(task, number, nth(request.lengths, index % lengths), request.seed,
                         composer, data);
}

std::string chat_text(const std::optional<ChatTemplate>& chat) {
  return chat ? chat->render({{{ChatRole::user, "?"}}}, true) : "none";
}

}  // namespace longhaul
