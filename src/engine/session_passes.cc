// The passes of a prompt: what they read and where it goes, cancelling, and what follows each.

#include <algorithm>
#include <optional>

#include "engine/session_state.h"

namespace longhaul {
namespace {

constexpr int64_t kLogitRows = 128;  // rows whose logits exist at a time

}  // namespace

bool Session::State::can_undo(const Pass& pass) const {
  if (streams.size() > 1 || pass.discard) return false;
  return tokens.empty() || can_rewind();
}

void Session::State::undo_pass() {
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

bool Session::State::run_pass(const ForwardPass& forward, const PrefillHooks& hooks) {
  const Pass& pass = forward.pass;
  const float* hidden = decoder.forward(forward, *method);
  if (hidden == nullptr) {
    undo_pass();
    return false;
  }
  const int64_t width = engine->model().config.hidden;
  const int64_t vocab = engine->model().config.vocab;
  if (!forward.last_state && !pass.discard && leads()) {
    for (int64_t r = 0; r < pass.count; r += kLogitRows) {
      const int64_t rows = std::min(kLogitRows, pass.count - r);
      rows_of_logits.resize(static_cast<size_t>(rows * vocab));
      decoder.logits(hidden + r * width, rows, rows_of_logits.data());
      hooks.all_logits(pass.begin + r, rows, rows_of_logits.data());
    }
  }
  if (pass.last) {
    take_logits(hidden + (forward.last_state ? 0 : pass.count - 1) * width);
  }
  return true;
}

void Session::State::follow_up(const ForwardPass& forward) {
  method->retain(streams, forward.pass);
  if (forward.pass.discard) return;
  tokens.insert(tokens.end(), forward.tokens.begin(), forward.tokens.end());
}

void Session::State::tell(const PrefillHooks& hooks, const Pass& pass, int layers,
                          int64_t total) const {
  if (pass.discard || !leads()) return;
  const int all = engine->model().config.layers;
  if (hooks.pass_progress) {
    hooks.pass_progress(pass.begin, pass.count, static_cast<double>(layers) / all);
  }
  if (hooks.progress) hooks.progress(pass.begin + pass.count * layers / all, total);
}

/// What a pass that discards leaves behind is of use only together with the pass that keeps what
/// was read next: a prompt is not cancelled between the two.
bool Session::State::run_passes(std::span<const int32_t> prompt, int64_t begin,
                                std::span<const Pass> passes, const PrefillHooks& hooks) {
  const auto total = static_cast<int64_t>(prompt.size());
  const auto stops = [&] { return options.queue.any_member(requested(hooks.cancel)); };
  std::optional<KvStore> copy;
  std::optional<ForwardPass> ahead;  // waits for the next pass, to be computed with it
  Pass before;
  for (const Pass& pass : passes) {
    if (stops() && !before.discard) return false;
    const bool reads_on = before.discard && pass.discard && before.stream == pass.stream &&
                          before.begin + before.count == pass.begin;
    if (!reads_on && !ahead) copy.reset();
    KvStore& stream = streams[static_cast<size_t>(pass.stream)];
    if (pass.discard && !copy) copy = stream.fork();
    ForwardPass forward{
        .tokens = prompt.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count)),
        .position = begin + pass.begin,
        .pass = pass,
        .store = pass.discard ? &*copy : &stream,
        .streams = streams};
    if (pass.with_next) {
      ahead = forward;
      before = pass;
      continue;
    }
    forward.ahead = ahead ? &*ahead : nullptr;
    forward.go_on = [&](int layers) {
      tell(hooks, pass, layers, total);
      return !stops() || before.discard || !can_undo(pass);
    };
    forward.last_state = !hooks.all_logits;
    if (!run_pass(forward, hooks)) return false;
    if (ahead) {
      copy.reset();
      follow_up(*ahead);
      ahead.reset();
    }
    follow_up(forward);
    tell(hooks, pass, engine->model().config.layers, total);
    before = pass;
  }
  return true;
}

}  // namespace longhaul
