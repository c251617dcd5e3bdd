#include "cli/turn.h"

#include <algorithm>
#include <cstdio>

#include "cli/progress_bar.h"

namespace longhaul {
namespace {

void write_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

PromptReading read_with_bar(Session& session, const std::vector<int32_t>& prompt,
                            int64_t instruction, const TurnOptions& options, Interrupt& interrupt) {
  ProgressBar bar("reading", options.progress);
  PrefillHooks hooks;
  hooks.instruction = instruction;
  hooks.reply = std::max<int64_t>(0, options.generate.max_tokens);
  hooks.cancel = &interrupt.flag();
  hooks.progress = [&bar](int64_t done, int64_t total) { bar.update(done, total); };
  return read_prompt(session, prompt, hooks);
}

}  // namespace

RunFacts run_turn(Session& session, const std::vector<int32_t>& prompt, int64_t instruction,
                  const TurnOptions& options, Interrupt& interrupt) {
  RunFacts facts;
  const SamplerOptions& sampler = options.generate.sampler;
  if (sampler.temperature > 0) facts.seed = sampler.seed;
  facts.reading = read_with_bar(session, prompt, instruction, options, interrupt);
  if (!facts.reading.finished) return facts;
  if (!options.save.empty()) session.save(options.save);
  if (options.generate.max_tokens == 0) return facts;
  facts.reply = generate(session, options.generate,
                         options.stream ? write_text : std::function<void(std::string_view)>());
  facts.replied = !facts.reply.tokens.empty();
  facts.first_token_seconds = facts.reading.seconds + facts.reply.first_token_seconds;
  if (options.stream && facts.replied) write_text("\n");
  return facts;
}

}  // namespace longhaul
