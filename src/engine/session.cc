#include "engine/session.h"

namespace longhaul {

Session::Session(std::shared_ptr<const Engine> engine, const SessionOptions& options)
    : runner_(engine, options.queue, options.compute), sequence_(std::move(engine), options) {}

bool Session::prefill(std::span<const int32_t> tokens, const PrefillHooks& hooks) {
  Prefill prefill(sequence_, tokens, hooks);
  for (;;) {
    const PrefillStep step = prefill.step(runner_);
    if (step != PrefillStep::kMore) return step == PrefillStep::kDone;
  }
}

}  // namespace longhaul
