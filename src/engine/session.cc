#include "engine/session.h"

namespace longhaul {

Session::Session(std::shared_ptr<const Engine> engine, const SessionOptions& options)
    : runner_(engine, options.queue, options.compute), sequence_(std::move(engine), options) {}

bool Session::prefill(std::span<const int32_t> tokens, const PrefillHooks& hooks) {
  return longhaul::prefill(sequence_, runner_, tokens, hooks);
}

}  // namespace longhaul
