#include "cli/prefill_forecast.h"

#include <algorithm>

#include "base/clock.h"

namespace longhaul {

MeasuredPrefill measure_prefill(const std::shared_ptr<const Engine>& engine, SessionOptions options,
                                std::span<const int32_t> tokens, int chunk) {
  constexpr double kSeconds = 1;
  constexpr size_t kMost = 1 << 16;
  options.chunk = chunk;
  Session session(engine, options);
  session.prefill(
      tokens.first(std::min<size_t>(tokens.size(), 64)));  // compiles kernels, reads weights
  Session timed(engine, options);
  size_t beginning = std::min(tokens.size(), kMost);
  while (beginning > 256 && !timed.has_room(static_cast<int64_t>(beginning), 0, 0)) beginning /= 2;
  MeasuredPrefill measured;
  CancelFlag enough;
  const Stopwatch watch;
  PrefillHooks hooks;
  hooks.cancel = &enough;
  hooks.pass_progress = [&](int64_t begin, int64_t count, double share) {
    measured.time.add(begin, count, share, watch.seconds(), timed.report().attention_seconds);
    measured.tokens = begin + static_cast<int64_t>(share * static_cast<double>(count));
    if (watch.seconds() > kSeconds) enough.request();
  };
  timed.prefill(tokens.first(beginning), hooks);
  measured.seconds = watch.seconds();
  return measured;
}

double forecast_prefill(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
                        std::span<const int32_t> tokens) {
  const auto all = std::ssize(tokens);
  const auto method = options.attention.make(engine->model().shape);
  const int64_t reach = method->reach(all, chunk_of(options.chunk, *method, options.queue));
  return measure_prefill(engine, options, tokens, options.chunk).time.reading(all, reach);
}

}  // namespace longhaul
