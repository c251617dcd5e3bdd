#include "engine/prefill.h"

#include <algorithm>

#include "attention/parts/passes.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/model_runner_state.h"
#include "engine/sequence_state.h"

namespace longhaul {
namespace {

constexpr int64_t kLogitRows = 128;        // number of rows whose logits are in memory at a time
constexpr double kLongestInterval = 0.25;  // seconds between two calls of the yield hook

}  // namespace

struct Prefill::State {
  /// The passes of the prompt on one device.
  struct Part {
    std::vector<Pass> passes;
    size_t next = 0;
    /// Whether the last pass had Pass::discard. The prompt is not cancelled between such a pass and
    /// the next pass without discard, which uses its results.
    bool discarded = false;
    std::vector<ForwardPass> group;
    InsideLayer inside;
  };

  State(Sequence::State& s, std::span<const int32_t> tokens, PrefillHooks h)
      : sequence(s),
        prompt(tokens.begin(), tokens.end()),
        begin(std::ssize(s.tokens)),
        hooks(std::move(h)),
        parts(static_cast<size_t>(s.options.queue.ranks())) {}

  void prepare(Sequence::State& each);
  PrefillStep step(Sequence::State& each, Decoder& decoder, const std::function<void()>& yield);
  bool run_group(Sequence::State& each, Decoder& decoder, const std::function<bool(int)>& go_on);
  /// Calls PrefillHooks::all_logits with the logits of the group's rows that are not discarded.
  void tell_logits(std::span<const ForwardPass> group, Decoder& decoder, const float* hidden);
  /// Returns the predicted time of a layer at the end of the context, if the layer needs `seconds`
  /// for this group. The time of attention grows with the number of earlier tokens.
  double predicted_at_end(std::span<const ForwardPass> group, double seconds) const;
  /// Calls the progress hooks after `layers` layers of the group.
  void tell_progress(std::span<const ForwardPass> group, int layers) const;
  void end();

  Sequence::State& sequence;  ///< the state of rank 0
  std::vector<int32_t> prompt;
  int64_t begin;  ///< number of tokens of the sequence before the prompt
  PrefillHooks hooks;
  std::vector<Part> parts;  ///< one per device
  Buffer<float> rows_of_logits;
  bool ended = false;
};

bool Sequence::State::can_undo(std::span<const ForwardPass> group) const {
  const auto discards = [](const ForwardPass& forward) { return forward.pass.discard; };
  if (streams.size() > 1 || std::ranges::any_of(group, discards)) return false;
  return tokens.empty() || can_rewind();
}

void Sequence::State::undo_group() {
  if (tokens.empty()) {
    reset();
  } else {
    store().truncate(std::ssize(tokens));
    recurrent.drop();
  }
}

void Prefill::State::prepare(Sequence::State& each) {
  const auto count = std::ssize(prompt);
  Part& part = nth(parts, each.options.queue.rank());
  each.all_agree([&] {
    each.forecast_of_prompt = each.check_fits(count, hooks.reply);
    const int64_t instruction = std::clamp<int64_t>(hooks.instruction, 0, count);
    part.passes = each.method->prepare({begin, count, instruction, each.chunk, hooks.evidence});
  });
  each.set_angles(begin + count + hooks.to_come);
  each.whole_or_nothing([&] {
    each.logits.clear();  // a cancelled prefill has no logits
    each.drop_other_streams();
    for (int i = 1; i < each.method->streams(); ++i) each.streams.push_back(each.store().fork());
  });
}

/// Limits how far the host queues work on a device in advance to two layers. Otherwise work that
/// the yield hook queues would run only after all layers of the group.
class LayersAhead {
 public:
  explicit LayersAhead(const Queue& queue) : queue_(queue) {}
  /// Must be called after each layer.
  void limit() {
    if (queue_.on_host()) return;
    const uint64_t now = queue_.device().record_event();
    if (before_last_ != 0) queue_.device().wait_for(before_last_);
    before_last_ = last_;
    last_ = now;
  }

 private:
  const Queue& queue_;
  uint64_t last_ = 0, before_last_ = 0;
};

PrefillStep Prefill::State::step(Sequence::State& each, Decoder& decoder,
                                 const std::function<void()>& yield) {
  Part& part = nth(parts, each.options.queue.rank());
  const auto stops = [&] { return each.options.queue.any_member(requested(hooks.cancel)); };
  if (stops() && !part.discarded) return PrefillStep::kCancelled;
  const auto left = std::span<const Pass>(part.passes).subspan(part.next);
  part.group.clear();
  for (const Pass& pass : left.first(passes_together(left, each.chunk))) {
    part.group.push_back(ForwardPass::of(prompt, begin, pass));
  }
  part.next += part.group.size();
  part.inside.yield = yield;
  LayersAhead ahead(each.options.queue);
  Stopwatch layer;
  const auto go_on = [&](int layers) {
    if (yield && predicted_at_end(part.group, layer.seconds()) > kLongestInterval) {
      part.inside.active = true;
    }
    if (each.is_root()) tell_progress(part.group, layers);
    if (yield) {
      ahead.limit();
      yield();
    }
    layer.restart();
    return !stops() || part.discarded || !each.can_undo(part.group);
  };
  if (!run_group(each, decoder, go_on)) return PrefillStep::kCancelled;
  if (each.is_root()) tell_progress(part.group, each.engine->model().config.layers);
  part.discarded = part.group.back().pass.discard;
  return part.next == part.passes.size() ? PrefillStep::kDone : PrefillStep::kMore;
}

/// Computes a group of passes on one device. Returns false if the group was cancelled and undone.
bool Prefill::State::run_group(Sequence::State& each, Decoder& decoder,
                               const std::function<bool(int)>& go_on) {
  const std::span<const ForwardPass> group = nth(parts, each.options.queue.rank()).group;
  const SequenceRows rows = each.rows_of(group);
  const bool last_state = hooks.all_logits == nullptr;
  const InsideLayer* inside = &nth(parts, each.options.queue.rank()).inside;
  const float* hidden =
      decoder.forward(rows, {.go_on = go_on, .inside = inside, .last_state = last_state});
  if (hidden == nullptr) {
    each.undo_group();
    return false;
  }
  if (!last_state && each.is_root()) tell_logits(group, decoder, hidden);
  if (group.back().pass.last) {
    const int64_t row = last_state ? 0 : rows.rows() - 1;
    each.take_logits(decoder, hidden + row * each.engine->model().config.hidden);
  }
  for (const ForwardPass& pass : group) each.finish_pass(pass);
  return true;
}

void Prefill::State::tell_logits(std::span<const ForwardPass> group, Decoder& decoder,
                                 const float* hidden) {
  const int64_t width = sequence.engine->model().config.hidden;
  const int64_t vocab = sequence.engine->model().config.vocab;
  for (const ForwardPass& forward : group) {
    const Pass& pass = forward.pass;
    for (int64_t r = 0; r < pass.count && !pass.discard; r += kLogitRows) {
      const int64_t rows = std::min(kLogitRows, pass.count - r);
      rows_of_logits.resize(static_cast<size_t>(rows * vocab));
      decoder.logits(hidden + r * width, rows, rows_of_logits.data());
      hooks.all_logits(pass.begin + r, rows, rows_of_logits.data());
    }
    hidden += pass.count * width;
  }
}

double Prefill::State::predicted_at_end(std::span<const ForwardPass> group, double seconds) const {
  const ForwardPass& last = group.back();
  const auto here = static_cast<double>(last.position + last.rows());
  const int64_t end = std::max(sequence.options.context, begin + std::ssize(prompt));
  return seconds * std::max(1.0, static_cast<double>(end) / here);
}

void Prefill::State::tell_progress(std::span<const ForwardPass> group, int layers) const {
  int64_t first = 0, count = 0;  // number of rows that are kept
  for (const ForwardPass& forward : group) {
    if (forward.pass.discard) continue;
    if (count == 0) first = forward.pass.begin;
    count += forward.pass.count;
  }
  if (count == 0) return;
  const int of = sequence.engine->model().config.layers;
  if (hooks.pass_progress) hooks.pass_progress(first, count, static_cast<double>(layers) / of);
  if (hooks.progress) hooks.progress(first + count * layers / of, std::ssize(prompt));
}

void Prefill::State::end() {
  if (std::exchange(ended, true)) return;
  sequence.drop_other_streams();
  for (const auto& mate : sequence.peers) mate->drop_other_streams();
}

Prefill::Prefill(Sequence& sequence, std::span<const int32_t> tokens, PrefillHooks hooks) {
  Sequence::State& s = sequence.state_->usable();
  if (tokens.empty()) user_error("the prompt is empty");
  s.engine->check_known(tokens);
  auto state = std::make_unique<State>(s, tokens, std::move(hooks));
  s.together([&](Sequence::State& each) { state->prepare(each); });
  state_ = std::move(state);
}

Prefill::~Prefill() {
  if (state_ != nullptr) state_->end();
}

Prefill::Prefill(Prefill&&) noexcept = default;

PrefillStep Prefill::step(ModelRunner& runner, const std::function<void()>& yield) {
  State& s = *state_;
  LH_ASSERT(!s.ended);
  const std::function<void()> none;
  const bool alone = s.sequence.options.queue.ranks() == 1;
  PrefillStep outcome = PrefillStep::kCancelled;
  try {
    s.sequence.together([&](Sequence::State& each) {
      each.whole_or_nothing([&] {
        Decoder& decoder = runner.state_->decoder(*each.engine, each.options.queue);
        const PrefillStep here = s.step(each, decoder, alone ? yield : none);
        if (each.is_root()) outcome = here;
      });
    });
  } catch (...) {
    s.ended = true;
    throw;
  }
  if (outcome != PrefillStep::kMore) s.end();
  return outcome;
}

bool prefill(Sequence& sequence, ModelRunner& runner, std::span<const int32_t> tokens,
             const PrefillHooks& hooks) {
  Prefill all(sequence, tokens, hooks);
  for (;;) {
    const PrefillStep step = all.step(runner);
    if (step != PrefillStep::kMore) return step == PrefillStep::kDone;
  }
}

int64_t Prefill::tokens() const { return std::ssize(state_->prompt); }
int64_t Prefill::done() const { return std::ssize(state_->sequence.tokens) - state_->begin; }

}  // namespace longhaul
