#pragma once
// Samples the next token. The chain is that of llama.cpp: repeat penalty, then top-k, top-p and
// min-p on the probabilities at temperature 1, then temperature, then the draw.

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace longhaul {

struct SamplerOptions {
  float temperature = 0;     ///< 0: always the likeliest token; the three cuts have no effect then
  int top_k = 40;            ///< keep the k likeliest tokens; 0 or below: all
  float top_p = 0.95f;       ///< keep the fewest likeliest tokens with this probability in total;
                             ///< 1: all
  float min_p = 0.05f;       ///< keep tokens with at least this fraction of the best one's
                             ///< probability; 0: all
  float repeat_penalty = 1;  ///< divides positive logits of recent tokens, multiplies negative ones
  int repeat_last = 64;      ///< how many recent tokens it applies to
  uint64_t seed = 0;
};

/// Deterministic: equal options, logits and history give equal tokens.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  /// logits [vocab]; `history`: the tokens of the context, last one last. NaN counts as impossible.
  /// Among equal logits the lowest id is chosen. Throws UserError if no logit is finite. `mask`:
  /// bit i % 64 of word i / 64 allows token i; empty: all are allowed.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> history,
                 std::span<const uint64_t> mask = {});

 private:
  struct Candidate {
    float logit;
    int32_t id;
  };
  static bool better(const Candidate& a, const Candidate& b);
  void collect(std::span<const float> logits, std::span<const int32_t> history,
               std::span<const uint64_t> mask);
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  int32_t draw();

  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<Candidate> candidates_;  // reused from call to call; best first once top_k has run
};

}  // namespace longhaul
