#include "engine/generation.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "engine/loop_detector.h"
#include "engine/stop_matcher.h"
#include "tokenizer/detokenizer.h"

namespace longhaul {

struct Generation::State {
  State(const Sequence& s, const GenerateOptions& o, TextCallback callback)
      : sequence(s),
        options(o),
        on_text(std::move(callback)),
        sampler(o.sampler),
        detokenizer(s.engine().tokenizer(), {.skip_special = true, .starts_text = o.starts_text}),
        matcher(o.stop) {}

  void emit(const std::string& text) {
    if (text.empty()) return;
    reply.text += text;
    if (on_text) on_text(text);
  }
  /// Adds text to the reply. Returns false if the text now contains a stop string.
  bool push(std::string_view text) {
    emit(matcher.push(text));
    return !matcher.stopped();
  }
  /// Returns the reason if the reply must end before another token is computed.
  std::optional<StopReason> limit_reached() const;
  void end(StopReason reason);
  void sample(std::span<const float> logits);
  /// Returns a mask of the tokens that the grammar allows, or an empty span if there is no grammar.
  std::span<const uint64_t> allowed();

  const Sequence& sequence;
  GenerateOptions options;
  TextCallback on_text;
  Sampler sampler;
  Detokenizer detokenizer;
  StopMatcher matcher;
  LoopDetector loop;
  Stopwatch watch;
  Reply reply;
  grammar::TokenMask mask;
  bool ended = false;
};

std::optional<StopReason> Generation::State::limit_reached() const {
  const auto made = std::ssize(reply.tokens);
  if (options.max_tokens >= 0 && made >= options.max_tokens) return StopReason::kMaxTokens;
  if (requested(options.cancel)) return StopReason::kCancelled;
  const int64_t context = sequence.options().context;
  if (made > 0 && context > 0 && std::ssize(sequence.tokens()) >= context) {
    return StopReason::kContextFull;
  }
  return std::nullopt;
}

void Generation::State::end(StopReason reason) {
  ended = true;
  reply.stop = reason;
  reply.loop_tokens = loop.period();
  if (reason != StopReason::kStopString && push(detokenizer.flush())) emit(matcher.flush());
}

std::span<const uint64_t> Generation::State::allowed() {
  if (!options.constraint || !options.constraint->active()) return {};
  mask.resize(options.constraint->mask_words());
  options.constraint->allowed(mask);
  return mask;
}

void Generation::State::sample(std::span<const float> logits) {
  const bool first = reply.tokens.empty();
  const int32_t token = sampler.sample(logits, sequence.tokens(), allowed());
  reply.tokens.push_back(token);
  if (first) {
    reply.first_token_seconds = watch.seconds();
  } else {
    ++reply.decode_steps;
  }
  const Tokenizer& tokenizer = sequence.engine().tokenizer();
  if (options.constraint) {
    options.constraint->accept(
        token, tokenizer.is_special(token) ? tokenizer.piece(token) : std::string_view());
  }
  const bool watch_loops = options.stop_loops && options.sampler.temperature == 0;
  if (tokenizer.end_of_generation(token)) return end(StopReason::kEndOfReply);
  if (!push(detokenizer.push(token))) return end(StopReason::kStopString);
  if (options.constraint && options.constraint->must_end()) return end(StopReason::kEndOfReply);
  if (watch_loops && loop.push(token)) return end(StopReason::kLoop);
}

Generation::Generation(const Sequence& sequence, const GenerateOptions& options,
                       TextCallback on_text)
    : state_(std::make_unique<State>(sequence, options, std::move(on_text))) {
  if (const auto reason = state_->limit_reached()) {
    state_->end(*reason);
  } else {
    state_->sample(sequence.logits());
  }
}

Generation::~Generation() = default;
Generation::Generation(Generation&&) noexcept = default;

std::optional<int32_t> Generation::input() {
  State& s = *state_;
  if (s.ended) return std::nullopt;
  if (const auto reason = s.limit_reached()) {
    s.end(*reason);
    return std::nullopt;
  }
  s.watch.restart();
  return s.reply.tokens.back();
}

void Generation::take(std::span<const float> logits) {
  LH_ASSERT(!state_->ended);
  state_->sample(logits);
  state_->reply.decode_seconds += state_->watch.seconds();
}

bool Generation::ended() const { return state_->ended; }
const Reply& Generation::reply() const { return state_->reply; }

double Reply::tokens_per_second() const {
  return decode_seconds > 0 ? static_cast<double>(decode_steps) / decode_seconds : 0;
}

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

}  // namespace longhaul
