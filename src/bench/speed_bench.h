#pragma once
// Speed of one model with one attention method. Tokens are synthetic (the sequence of the peers'
// scripts in bench/compare), because dense attention does the same work for any text. For methods
// that read a document by an instruction, the last kBenchInstruction tokens of a prompt are the
// instruction.

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
  int64_t prompt = 0;  ///< tokens
  Spread tokens_per_second;
  Spread first_token_seconds;  ///< prefill, logits and a greedy choice
  double flops = 0;            ///< for one prompt: bench/model_work.h
  double pairs_share = 1;      ///< computed attention pairs as a fraction of dense attention's
  size_t kv_bytes = 0;
  double attention_share = 0;  ///< fraction of the time
  /// Largest resident set during prefill; none if the system cannot separate it from earlier peaks.
  std::optional<size_t> peak_bytes;
};

struct DecodeSpeed {
  int64_t depth = 0;  ///< tokens in the context before the first step
  int64_t steps = 0;
  Spread tokens_per_second;
  size_t bytes_per_token = 0;  ///< weights and current keys and values, each once
  size_t kv_bytes = 0;
  std::optional<size_t> peak_bytes;  ///< largest resident set during decode, as above
};

std::vector<int32_t> bench_tokens(int64_t count, int64_t vocab);

/// Runs one short prompt and a few steps, so that the GEMM library has built its kernels and the
/// weights are in memory.
void warm_up(const std::shared_ptr<const Engine>& engine, const SessionOptions& options);

/// Uses a fresh session for every repetition. With `decode`, each repetition continues with
/// `decode->steps` steps at the depth reached, so that a long context is read once for both
/// figures. On cancel it stops early, with fewer repetitions or none.
PrefillSpeed bench_prefill(const std::shared_ptr<const Engine>& engine,
                           const SessionOptions& options, int64_t prompt, int repeat,
                           const CancelFlag* cancel, DecodeSpeed* decode = nullptr);

/// Measures depths in ascending order on one context: each depth reads only the missing tokens, and
/// each repetition starts again at its depth.
std::vector<DecodeSpeed> bench_decode(const std::shared_ptr<const Engine>& engine,
                                      const SessionOptions& options, std::vector<int64_t> depths,
                                      int64_t steps, int repeat, const CancelFlag* cancel);

}  // namespace longhaul
