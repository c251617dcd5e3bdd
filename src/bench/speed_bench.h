#pragma once
// Speed of one model with one attention method. Tokens are synthetic (the sequence that the peers'
// scripts under bench/compare use): dense attention does the same work on any text. For methods
// that read a document by an instruction, the last kBenchInstruction tokens of a prompt are that.

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
  double flops = 0;            ///< of one prompt: bench/model_work.h
  double pairs_share = 1;      ///< attention pairs computed, of dense attention's
  size_t kv_bytes = 0;
  double attention_share = 0;  ///< of the time
  /// Largest resident set while prompts were read; none where the system does not tell it apart
  /// from what came before.
  std::optional<size_t> peak_bytes;
};

struct DecodeSpeed {
  int64_t depth = 0;  ///< tokens in the context before the first step
  int64_t steps = 0;
  Spread tokens_per_second;
  size_t bytes_per_token = 0;  ///< weights once and the live keys and values once
  size_t kv_bytes = 0;
  std::optional<size_t> peak_bytes;  ///< as above, while tokens were decoded
};

std::vector<int32_t> bench_tokens(int64_t count, int64_t vocab);

/// One short prompt and a few steps, so that the GEMM library has built its kernels and the weights
/// are in memory.
void warm_up(const std::shared_ptr<const Engine>& engine, const SessionOptions& options);

/// A fresh session for every repetition. With `decode`, each goes on with `decode->steps` steps at
/// the depth that it has reached, so that a long context is read once for both figures. Stops early
/// (fewer repetitions, perhaps none) on cancel.
PrefillSpeed bench_prefill(const std::shared_ptr<const Engine>& engine,
                           const SessionOptions& options, int64_t prompt, int repeat,
                           const CancelFlag* cancel, DecodeSpeed* decode = nullptr);

/// Depths in ascending order on one context: each depth reads only what the one before lacks, each
/// repetition starts again at its depth.
std::vector<DecodeSpeed> bench_decode(const std::shared_ptr<const Engine>& engine,
                                      const SessionOptions& options, std::vector<int64_t> depths,
                                      int64_t steps, int repeat, const CancelFlag* cancel);

}  // namespace longhaul
