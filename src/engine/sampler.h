#pragma once
// Sampler selects the next token from the logits. Its stages have the order of llama.cpp: repeat
// penalty; top-k, top-p and min-p with probabilities at temperature 1; temperature; random choice.

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "ops/core/best_logits.h"

namespace longhaul {

struct SamplerOptions {
  /// If it is 0, the most likely token is always selected, and top_k, top_p and min_p have no
  /// effect.
  float temperature = 0;
  int top_k = 40;  ///< keep the k most likely tokens; 0 or below: all
  /// Keep the fewest most likely tokens whose total probability is at least this; 1: all.
  float top_p = 0.95f;
  /// Keep tokens whose probability is at least this fraction of the highest one; 0: all.
  float min_p = 0.05f;
  /// Positive logits of recent tokens are divided by this number, and negative logits are
  /// multiplied by it.
  float repeat_penalty = 1;
  int repeat_last = 64;  ///< number of recent tokens to which the penalty applies
  uint64_t seed = 0;
};

/// The sampler is deterministic: equal options, logits and history give equal tokens.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  /// Returns the sampled token. `logits` is [vocab]. `history` holds the tokens of the context in
  /// order. A token whose logit is NaN is never selected. Among equal logits, the lowest token id
  /// is preferred. `mask` allows token i if bit i % 64 of element i / 64 is set; an empty mask
  /// allows all tokens. Throws UserError if no logit is finite.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> history,
                 std::span<const uint64_t> mask = {});

 private:
  std::vector<int32_t> repeated(std::span<const int32_t> history) const;
  void collect(std::span<const float> logits, std::span<const int32_t> history,
               std::span<const uint64_t> mask);
  void sort_top_k();
  void keep_top_p();
  void keep_min_p();
  int32_t draw();

  SamplerOptions options_;
  std::mt19937_64 random_;
  // The memory is reused from call to call. sort_top_k() sorts the candidates, the best first.
  std::vector<BestLogit> candidates_;
};

}  // namespace longhaul
