#pragma once
// Measures the speed of a model with an attention method. The tokens of the prompts are computed by
// a formula (bench_tokens()), because the work of dense attention does not depend on the text. The
// scripts that measure other programs use the same tokens (bench/compare). Some methods select keys
// and values by the question at the end of a prompt. For them, the last kBenchInstruction tokens
// count as the question.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "bench/spread.h"
#include "engine/session.h"

namespace longhaul {

constexpr int64_t kBenchInstruction = 32;

struct PrefillSpeed {
  int64_t prompt = 0;  ///< number of tokens of the prompt
  Spread tokens_per_second;
  Spread first_token_seconds;  ///< time of prefill, of the logits, and of choosing the token
  double flops = 0;            ///< floating-point operations of one prefill (bench/model_work.h)
  /// Number of computed (query, key) pairs, divided by the number for dense attention.
  double pairs_share = 1;
  size_t kv_bytes = 0;
  double attention_share = 0;  ///< fraction of the prefill time that attention takes
  /// Largest resident memory during prefill in bytes. Empty if the system can only report the
  /// largest since the start of the process.
  std::optional<size_t> peak_bytes;
};

struct DecodeSpeed {
  int64_t depth = 0;  ///< number of tokens in the context before the first step
  int64_t steps = 0;
  Spread tokens_per_second;
  /// Size of the weights and of the current keys and values, which a step reads once.
  size_t bytes_per_token = 0;
  size_t kv_bytes = 0;
  std::optional<size_t> peak_bytes;  ///< like PrefillSpeed::peak_bytes, during decode
};

std::vector<int32_t> bench_tokens(int64_t count, int64_t vocab);

/// Prefills a short prompt and decodes a few tokens, so that the kernels are compiled and the
/// weights are in memory before a measurement.
void warm_up(const std::shared_ptr<const Engine>& engine, const SessionOptions& options);

/// Prefills a prompt of `prompt` tokens `repeat` times, each time in a new session, and measures
/// the prefill. If `decode` is not null, also decodes `decode->steps` tokens after each prefill and
/// measures this. One prefill then serves both measurements. If the measurement is cancelled, the
/// result is based on fewer repetitions or none.
PrefillSpeed bench_prefill(const std::shared_ptr<const Engine>& engine,
                           const SessionOptions& options, int64_t prompt, int repeat,
                           const CancelFlag* cancel, DecodeSpeed* decode = nullptr);

/// Measures decode at several depths, in ascending order. A depth is the number of tokens in the
/// context before the first decode step. All depths use the same session: for the next depth, only
/// the missing tokens are prefilled. At each depth, `steps` tokens are decoded and then removed
/// again, `repeat` times.
std::vector<DecodeSpeed> bench_decode(const std::shared_ptr<const Engine>& engine,
                                      const SessionOptions& options, std::vector<int64_t> depths,
                                      int64_t steps, int repeat, const CancelFlag* cancel);

}  // namespace longhaul
