#include "engine/generate.h"

#include "base/clock.h"
#include "base/error.h"
#include "engine/loop_detector.h"
#include "engine/stop_matcher.h"
#include "tokenizer/detokenizer.h"

namespace longhaul {
namespace {

double rate(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Where a reply's text goes: through the stop strings to the result and the caller.
class TextSink {
 public:
  TextSink(const GenerateOptions& options, const std::function<void(std::string_view)>& on_text,
           std::string& text)
      : matcher_(options.stop), on_text_(on_text), text_(text) {}

  /// False when a stop string is complete.
  bool push(std::string_view text) {
    emit(matcher_.push(text));
    return !matcher_.stopped();
  }
  void finish() { emit(matcher_.flush()); }

 private:
  void emit(const std::string& text) {
    if (text.empty()) return;
    text_ += text;
    if (on_text_) on_text_(text);
  }

  StopMatcher matcher_;
  const std::function<void(std::string_view)>& on_text_;
  std::string& text_;
};

}  // namespace

double PromptReading::tokens_per_second() const { return rate(read, seconds); }
double Reply::tokens_per_second() const { return rate(decode_steps, decode_seconds); }

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::kEndOfReply:
      return "end_of_reply";
    case StopReason::kStopString:
      return "stop_string";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContextFull:
      return "context_full";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kLoop:
      return "loop";
  }
  return "unknown";
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
  const Tokenizer& tokenizer = session.engine().tokenizer();
  const int64_t context = session.options().context;
  Reply reply;
  Sampler sampler(options.sampler);
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = options.starts_text});
  TextSink sink(options, on_text, reply.text);
  LoopDetector loop;
  const bool watch_loops = options.stop_loops && options.sampler.temperature == 0;
  Stopwatch watch;

  const auto run = [&]() -> StopReason {
    for (;;) {
      const int64_t made = static_cast<int64_t>(reply.tokens.size());
      if (options.max_tokens >= 0 && made >= options.max_tokens) return StopReason::kMaxTokens;
      if (requested(options.cancel)) return StopReason::kCancelled;
      if (made > 0) {
        if (context > 0 && static_cast<int64_t>(session.tokens().size()) >= context) {
          return StopReason::kContextFull;
        }
        session.decode(reply.tokens.back());
        ++reply.decode_steps;
      }
      const int32_t token = sampler.sample(session.logits(), session.tokens());
      reply.tokens.push_back(token);
      if (made == 0) {
        reply.first_token_seconds = watch.seconds();
        watch.restart();
      }
      if (tokenizer.end_of_generation(token)) return StopReason::kEndOfReply;
      if (!sink.push(detokenizer.push(token))) return StopReason::kStopString;
      if (watch_loops && loop.push(token)) return StopReason::kLoop;
    }
  };
  reply.stop = run();
  reply.loop_tokens = loop.period();
  if (!reply.tokens.empty()) reply.decode_seconds = watch.seconds();
  if (reply.stop != StopReason::kStopString && sink.push(detokenizer.flush())) sink.finish();
  return reply;
}

}  // namespace longhaul
