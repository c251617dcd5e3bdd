#include "engine/generate.h"

#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace longhaul {

double PromptReading::tokens_per_second() const {
  return seconds > 0 ? static_cast<double>(read) / seconds : 0;
}

PromptReading read_prompt(Session& session, std::span<const int32_t> prompt,
                          const PrefillHooks& hooks) {
  if (prompt.empty()) user_error("the prompt is empty");
  const Stopwatch watch;
  PromptReading reading;
  reading.tokens = static_cast<int64_t>(prompt.size());
  reading.reused = session.reuse_prefix(prompt);
  const auto rest = prompt.subspan(static_cast<size_t>(reading.reused));
  if (rest.empty()) session.check_room(0, hooks.reply);
  reading.finished = rest.empty() || session.prefill(rest, hooks);
  reading.seconds = watch.seconds();
  reading.read = static_cast<int64_t>(session.tokens().size()) - reading.reused;
  return reading;
}

Reply generate(Session& session, const GenerateOptions& options,
               const std::function<void(std::string_view text)>& on_text) {
  Generation generation(session.sequence(), options, on_text);
  while (const std::optional<int32_t> token = generation.input()) {
    session.decode(*token);
    generation.take(session.logits());
  }
  return generation.reply();
}

size_t advance_together(ModelRunner& runner, std::span<RunningReply> replies) {
  std::vector<DecodeRow> rows;
  std::vector<RunningReply*> of_row;
  for (RunningReply& reply : replies) {
    if (reply.failed) continue;
    const std::optional<int32_t> token = reply.generation->input();
    if (!token) continue;
    rows.push_back({reply.sequence, *token});
    of_row.push_back(&reply);
  }
  if (!rows.empty()) runner.decode(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    of_row[i]->failed = rows[i].failed;
    if (!rows[i].failed) of_row[i]->generation->take(of_row[i]->sequence->logits());
  }
  return rows.size();
}

}  // namespace longhaul
