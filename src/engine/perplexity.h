#pragma once
// How well a model predicts a text: mean negative log-likelihood per token.
//
// Windows begin at token 0, stride, 2 * stride, ... and cover at most `window` tokens. The last one
// is the first that reaches the end. Each is a fresh context whose positions start at 0. A window
// scores the tokens that no earlier one scored, except its own first token, which no row predicts.
// With stride = window the first token of each window is therefore never scored. A smaller stride
// scores every token but the text's first exactly once, with at most window - 1 tokens before it.
//
// With a prefill of N tokens, the first N tokens of every window are its prompt and are not scored.
// The later tokens are scored and read one at a time like generated ones. This measures methods
// that evict when a prompt ends. An instruction follows each window's prompt and is not scored.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "engine/session.h"

namespace longhaul {

struct PerplexityWindow {
  int64_t begin = 0;         ///< first token read
  int64_t first_scored = 0;  ///< first token scored
  int64_t end = 0;           ///< one past the last, read and scored
};

struct PerplexityPlan {
  int64_t window = 2048;
  int64_t stride = 2048;
  int64_t prefill = 0;
  std::vector<int32_t> instruction = {};
};

/// window >= 2, 1 <= stride <= window and prefill < window, else UserError; `tokens` >= 2 and
/// > prefill, else UserError.
std::vector<PerplexityWindow> perplexity_windows(int64_t tokens, int64_t window, int64_t stride,
                                                 int64_t prefill = 0);

/// -ln of the probability that softmax(logits[0..vocab)) gives `target`, 0 <= target < vocab.
double negative_log_likelihood(const float* logits, size_t vocab, int32_t target);

/// Scores rows of logits against the tokens that follow them. The rows come from
/// PrefillHooks::all_logits during prefill of `tokens`.
class NextTokenLosses {
 public:
  /// Scores tokens [from, to), 1 <= from.
  NextTokenLosses(std::span<const int32_t> tokens, size_t vocab, int64_t from, int64_t to);

  /// Row r of `logits` [rows, vocab] belongs to token first + r and predicts the next one. Throws
  /// UserError if the result is not a finite number (engine/damaged_weights.h).
  void operator()(int64_t first, int64_t rows, const float* logits);

  /// Negative log-likelihood of token from + i; 0 for tokens that no row has predicted.
  std::span<const double> losses() const { return losses_; }

 private:
  std::span<const int32_t> tokens_;
  size_t vocab_;
  int64_t from_, to_;
  std::vector<double> losses_;
};

struct PerplexityResult {
  int64_t tokens_scored = 0;
  double sum = 0;                   ///< sum of -ln p
  std::vector<double> window_sums;  ///< number of windows that were read
  int64_t windows = 0;              ///< number of windows in the text
  double seconds = 0;
  size_t kv_bytes = 0;  ///< KV bytes of the largest window
  bool finished = false;

  double mean() const;  ///< perplexity per token
  double perplexity() const;
};

struct PerplexityHooks {
  /// Number of tokens read, the total, and the result so far.
  std::function<void(int64_t done, int64_t total, const PerplexityResult& so_far)> progress;
  const CancelFlag* cancel = nullptr;
};

PerplexityResult measure_perplexity(const std::shared_ptr<const Engine>& engine,
                                    const SessionOptions& session, std::span<const int32_t> tokens,
                                    const PerplexityPlan& plan, const PerplexityHooks& hooks = {});

}  // namespace longhaul
