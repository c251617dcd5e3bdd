#pragma once
// Measures the speed of a model with an attention method. Tokens are synthetic, because dense
// attention does the same work for any text. The tokens are the sequence that the scripts for other
// programs use (bench/compare). For methods that select rows of a document by an instruction, the
// last kBenchInstruction tokens of a prompt are the instruction.

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
  int64_t prompt = 0;  ///< tokens of the prompt
  Spread tokens_per_second;
  Spread first_token_seconds;  ///< time of prefill, logits and a greedy choice
  double flops = 0;            ///< operations for one prompt (bench/model_work.h)
  double pairs_share = 1;      ///< computed attention pairs, relative to dense attention
  size_t kv_bytes = 0;
  double attention_share = 0;  ///< attention's fraction of the time
  /// Largest resident set during prefill. It is empty if the system cannot separate it from earlier
  /// peaks.
  std::optional<size_t> peak_bytes;
};

struct DecodeSpeed {
  int64_t depth = 0;  ///< tokens in the context before the first step
  int64_t steps = 0;
  Spread tokens_per_second;
  size_t bytes_per_token = 0;  ///< weights, and current keys and values; each is read once
  size_t kv_bytes = 0;
  std::optional<size_t> peak_bytes;  ///< largest resident set during decode; empty as above
};

std::vector<int32_t> bench_tokens(int64_t count, int64_t vocab);

/// Runs one short prompt and a few steps. Afterwards the GEMM library has built its kernels, and
/// the weights are in memory.
void warm_up(const std::shared_ptr<const Engine>& engine, const SessionOptions& options);

/// Measures prefill. Each repetition uses a new session. If `decode` is not null, each repetition
/// continues with `decode->steps` steps at the depth reached, so that a long context is prefilled
/// only once for both figures. If it is cancelled, it stops early, with fewer repetitions or none.
PrefillSpeed bench_prefill(const std::shared_ptr<const Engine>& engine,
                           const SessionOptions& options, int64_t prompt, int repeat,
                           const CancelFlag* cancel, DecodeSpeed* decode = nullptr);

/// Measures decode at several depths of one context, in ascending order. At each depth only the
/// missing tokens are prefilled, and each repetition begins again at this depth.
std::vector<DecodeSpeed> bench_decode(const std::shared_ptr<const Engine>& engine,
                                      const SessionOptions& options, std::vector<int64_t> depths,
                                      int64_t steps, int repeat, const CancelFlag* cancel);

}  // namespace longhaul
