// The passes of a prompt: what they read and where it goes, cancelling, and what follows each.

#include <algorithm>

#include "attention/parts/passes.h"
#include "engine/session_state.h"

namespace longhaul {
namespace {

constexpr int64_t kLogitRows = 128;  // rows whose logits exist at a time

}  // namespace

bool Session::State::can_undo(const ForwardPasses& all) const {
  const auto discards = [](const ForwardPass& pass) { return pass.pass.discard; };
  if (streams.size() > 1 || std::ranges::any_of(all.passes, discards)) return false;
  return tokens.empty() || can_rewind();
}

void Session::State::undo_passes() {
  if (tokens.empty()) {
    reset();
  } else {
    store().truncate(static_cast<int64_t>(tokens.size()));
  }
}

void Session::State::take_logits(const float* hidden) {
  logits.resize(static_cast<size_t>(engine->model().config.vocab));
  if (leads()) decoder.logits(hidden, 1, logits.data());
}

bool Session::State::run_together(const ForwardPasses& all, const PrefillHooks& hooks) {
  const float* hidden = decoder.forward(all, *method);
  if (hidden == nullptr) {
    undo_passes();
    return false;
  }
  if (!all.last_state && leads()) tell_logits(all, hidden, hooks);
  if (all.passes.back().pass.last) {
    const int64_t row = all.last_state ? 0 : all.rows() - 1;
    take_logits(hidden + row * engine->model().config.hidden);
  }
  for (const ForwardPass& pass : all.passes) follow_up(pass);
  return true;
}

void Session::State::tell_logits(const ForwardPasses& all, const float* hidden,
                                 const PrefillHooks& hooks) {
  const int64_t width = engine->model().config.hidden;
  const int64_t vocab = engine->model().config.vocab;
  for (const ForwardPass& forward : all.passes) {
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

void Session::State::follow_up(const ForwardPass& forward) {
  method->finish(streams, forward.pass);
  if (forward.pass.discard) return;
  tokens.insert(tokens.end(), forward.tokens.begin(), forward.tokens.end());
}

void Session::State::tell(const PrefillHooks& hooks, const ForwardPasses& all, int layers,
                          int64_t total) const {
  int64_t begin = 0, count = 0;  // of the rows that are kept
  for (const ForwardPass& forward : all.passes) {
    if (forward.pass.discard) continue;
    if (count == 0) begin = forward.pass.begin;
    count += forward.pass.count;
  }
  if (count == 0 || !leads()) return;
  const int of = engine->model().config.layers;
  if (hooks.pass_progress) hooks.pass_progress(begin, count, static_cast<double>(layers) / of);
  if (hooks.progress) hooks.progress(begin + count * layers / of, total);
}

/// What a pass that discards leaves behind is of use only together with the pass that keeps what
/// was read next: a prompt is not cancelled between the two.
bool Session::State::run_passes(std::span<const int32_t> prompt, int64_t begin,
                                std::span<const Pass> passes, const PrefillHooks& hooks) {
  const auto total = static_cast<int64_t>(prompt.size());
  const auto stops = [&] { return options.queue.any_member(requested(hooks.cancel)); };
  bool discarded = false;  // the pass before
  std::vector<ForwardPass> forward;
  while (!passes.empty()) {
    if (stops() && !discarded) return false;
    forward.clear();
    for (const Pass& pass : passes.first(passes_together(passes, chunk))) {
      forward.push_back(ForwardPass::of(prompt, begin, pass));
    }
    passes = passes.subspan(forward.size());
    ForwardPasses all{
        .passes = forward, .streams = streams, .last_state = hooks.all_logits == nullptr};
    all.go_on = [&](int layers) {
      tell(hooks, all, layers, total);
      return !stops() || discarded || !can_undo(all);
    };
    if (!run_together(all, hooks)) return false;
    tell(hooks, all, engine->model().config.layers, total);
    discarded = forward.back().pass.discard;
  }
  return true;
}

}  // namespace longhaul
