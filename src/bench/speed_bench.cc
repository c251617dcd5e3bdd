#include "bench/speed_bench.h"

#include <algorithm>

#include "base/clock.h"
#include "base/system_info.h"
#include "bench/model_work.h"
#include "engine/generate.h"
#include "engine/sampler.h"

namespace longhaul {
namespace {

constexpr int64_t kWarmUpTokens = 64;
constexpr int32_t kDecodedToken = 11;  // arbitrary; the peers' scripts use the same token

int32_t greedy(const Session& session) {
  return Sampler(SamplerOptions{}).sample(session.logits(), {});
}

int32_t decoded_token(const Session& session) {
  return std::min<int32_t>(kDecodedToken, session.engine().model().config.vocab - 1);
}

PrefillHooks bench_hooks(int64_t tokens, const CancelFlag* cancel) {
  PrefillHooks hooks;
  hooks.instruction = std::min(tokens, kBenchInstruction);
  hooks.cancel = cancel;
  return hooks;
}

/// Sets the context to exactly the first `depth` bench tokens. Returns false if cancelled.
bool go_to_depth(Session& session, std::span<const int32_t> tokens, int64_t depth,
                 const CancelFlag* cancel) {
  std::vector<int32_t> wanted(tokens.begin(), tokens.begin() + depth);
  // differs from the decoded token, so that exactly `depth` tokens are kept
  wanted.push_back(decoded_token(session) == 0 ? 1 : 0);
  const int64_t kept = session.reuse_prefix(wanted);
  if (kept == depth) return true;
  return session.prefill(
      tokens.subspan(static_cast<size_t>(kept), static_cast<size_t>(depth - kept)),
      bench_hooks(depth - kept, cancel));
}

/// std::max that treats none as the lowest value: the maximum of several repetitions.
void raise(std::optional<size_t>& most, const std::optional<size_t>& bytes) {
  most = std::max(most, bytes);
}

/// Tokens per second of some steps; also records the bytes that a step reads.
double decode_rate(Session& session, DecodeSpeed& speed) {
  const PeakResident peak;
  const Stopwatch watch;
  for (int64_t step = 0; step < speed.steps; ++step) session.decode(decoded_token(session));
  const double rate = static_cast<double>(speed.steps) / watch.seconds();
  raise(speed.peak_bytes, peak.bytes());
  speed.kv_bytes = session.report().kv_bytes;
  speed.bytes_per_token =
      work_of(session.engine().model()).weight_bytes + session.store().live_bytes();
  return rate;
}

}  // namespace

std::vector<int32_t> bench_tokens(int64_t count, int64_t vocab) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    tokens[static_cast<size_t>(i)] = static_cast<int32_t>((i * 7919 + 13) % vocab);
  }
  return tokens;
}

void warm_up(const std::shared_ptr<const Engine>& engine, const SessionOptions& options) {
  Session session(engine, options);
  session.prefill(bench_tokens(kWarmUpTokens, engine->model().config.vocab),
                  bench_hooks(kWarmUpTokens, nullptr));
  for (int i = 0; i < 2; ++i) session.decode(decoded_token(session));
}

PrefillSpeed bench_prefill(const std::shared_ptr<const Engine>& engine,
                           const SessionOptions& options, int64_t prompt, int repeat,
                           const CancelFlag* cancel, DecodeSpeed* decode) {
  PrefillSpeed speed;
  speed.prompt = prompt;
  speed.flops = prefill_flops(engine->model(), 0, prompt);
  const auto tokens = bench_tokens(prompt, engine->model().config.vocab);
  std::vector<double> rates, firsts, attention, decode_rates;
  give_back_freed_memory();  // only once, because each repetition would have to allocate it again
  for (int i = 0; i < repeat && !requested(cancel); ++i) {
    const PeakResident peak;
    Session session(engine, options);
    const Stopwatch watch;
    if (!session.prefill(tokens, bench_hooks(prompt, cancel))) break;
    rates.push_back(static_cast<double>(prompt) / watch.seconds());
    greedy(session);
    firsts.push_back(watch.seconds());
    raise(speed.peak_bytes, peak.bytes());
    const SessionReport report = session.report();
    speed.kv_bytes = report.kv_bytes;
    speed.pairs_share = report.pairs_share;
    attention.push_back(report.attention_seconds / firsts.back());
    if (decode != nullptr) decode_rates.push_back(decode_rate(session, *decode));
  }
  if (decode != nullptr) decode->tokens_per_second = spread_of(decode_rates);
  speed.tokens_per_second = spread_of(rates);
  speed.first_token_seconds = spread_of(firsts);
  speed.attention_share = spread_of(attention).median;
  return speed;
}

std::vector<DecodeSpeed> bench_decode(const std::shared_ptr<const Engine>& engine,
                                      const SessionOptions& options, std::vector<int64_t> depths,
                                      int64_t steps, int repeat, const CancelFlag* cancel) {
  std::vector<DecodeSpeed> speeds;
  if (depths.empty() || steps <= 0) return speeds;
  std::sort(depths.begin(), depths.end());
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
  const auto tokens = bench_tokens(depths.back(), engine->model().config.vocab);
  give_back_freed_memory();
  Session session(engine, options);
  for (const int64_t depth : depths) {
    DecodeSpeed speed;
    speed.depth = depth;
    speed.steps = steps;
    std::vector<double> rates;
    for (int i = 0; i < repeat; ++i) {
      if (requested(cancel) || !go_to_depth(session, tokens, depth, cancel)) return speeds;
      rates.push_back(decode_rate(session, speed));
    }
    speed.tokens_per_second = spread_of(rates);
    speeds.push_back(speed);
  }
  return speeds;
}

}  // namespace longhaul
