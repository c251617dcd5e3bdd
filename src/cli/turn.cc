#include "cli/turn.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/progress_bar.h"
#include "cli/session_files.h"
#include "engine/prefill_time.h"

namespace longhaul {
namespace {

constexpr const char* kStopping = "\nstopping after this chunk; Ctrl-C again ends at once\n";

void write_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

PromptReading read_with_bar(Session& session, const std::vector<int32_t>& prompt,
                            int64_t instruction, const TurnOptions& options, Interrupt& interrupt) {
  ProgressBar bar("prefill", options.progress);
  PrefillHooks hooks;
  hooks.instruction = instruction;
  hooks.reply = std::max<int64_t>(0, options.generate.max_tokens);
  hooks.cancel = &interrupt.flag();
  const Stopwatch watch;
  const double attention_before = session.report().attention_seconds;
  std::optional<PrefillTime> time;
  hooks.pass_progress = [&](int64_t begin, int64_t count, double share) {
    // The session's tokens contain nothing of the prompt before its first pass is done.
    if (!time) {
      const auto depth = std::ssize(session.tokens());
      const Sequence& sequence = session.sequence();
      time.emplace(depth, sequence.method().reach(std::ssize(prompt), sequence.chunk()));
    }
    time->add(begin, count, share, watch.seconds(),
              session.report().attention_seconds - attention_before);
  };
  hooks.progress = [&](int64_t done, int64_t total) {
    bar.update(done, total, "", time->left(total));
  };
  // A method that cannot undo a chunk finishes it first, which may take many seconds.
  if (options.progress && !session.sequence().method().can_rewind()) {
    interrupt.announce(kStopping);
  }
  PromptReading reading = read_prompt(session, prompt, hooks);
  interrupt.announce(nullptr);
  return reading;
}

/// Memory that is free again counts as well, such as that of a chat template's values.
void check_held_so_far(const SessionOptions& options) {
  if (options.memory_limit == 0 || !options.queue.on_host()) return;
  const size_t held = peak_resident_bytes();
  if (held <= options.memory_limit) return;
  user_error("program and tokenizer have already held {}, more than --memory-limit {}",
             format_bytes(held), format_bytes(options.memory_limit));
}

}  // namespace

RunFacts run_turn(Session& session, const std::vector<int32_t>& prompt, int64_t instruction,
                  const TurnOptions& options, Interrupt& interrupt) {
  RunFacts facts;
  const SamplerOptions& sampler = options.generate.sampler;
  if (sampler.temperature > 0) facts.seed = sampler.seed;
  check_held_so_far(session.options());
  if (!options.save.empty()) check_save_space(session, std::ssize(prompt), options.save);
  facts.reading = read_with_bar(session, prompt, instruction, options, interrupt);
  const auto whole = std::ssize(prompt);
  // A prefill that was stopped is saved too: the time that went into a long prompt is not lost.
  if (!options.save.empty() && (facts.reading.finished || !session.tokens().empty())) {
    save_session(session, options.save, whole, options.about, !options.progress);
  }
  if (!facts.reading.finished || options.generate.max_tokens == 0) return facts;
  std::function<void(std::string_view)> write;
  if (options.stream) write = write_text;
  facts.reply = generate(session, options.generate, write);
  facts.replied = !facts.reply.tokens.empty();
  facts.first_token_seconds = facts.reading.seconds + facts.reply.first_token_seconds;
  if (options.stream && facts.replied) write_text("\n");
  if (facts.reply.stop == StopReason::kLoop) {
    warn(
        "the reply repeats its last {} and was stopped; --temp 0.7 or --repeat-penalty 1.1 may "
        "help, --loops disables the check",
        facts.reply.loop_tokens == 1 ? "token" : counted(facts.reply.loop_tokens, "token"));
  }
  return facts;
}

}  // namespace longhaul
