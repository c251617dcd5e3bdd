#pragma once
// Measures how well a model predicts a text: the mean negative log-likelihood per token, and the
// perplexity.
//
// The text is divided into windows. Windows begin at token 0, stride, 2 * stride, ... and contain
// at most `window` tokens. The first window that reaches the end of the text is the last one. Each
// window is a new context whose positions start at 0. To score a token means to compute its
// negative log-likelihood from the logits after the tokens before it. Each window scores the tokens
// that no earlier window has scored. The first token of a window cannot be scored, because no token
// precedes it. If the stride equals `window`, the first token of each window is therefore never
// scored. With a smaller stride, every token except the first token of the text is scored exactly
// once.
//
// With a prefill of N tokens, the first N tokens of each window are processed as a prompt and are
// not scored. The later tokens are processed one at a time, like generated tokens, and are scored.
// In this way, methods that evict rows at the end of a prompt can be measured. If the plan has an
// instruction, it is appended to the prompt of each window and is not scored.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "engine/session.h"

namespace longhaul {

struct PerplexityWindow {
  int64_t begin = 0;         ///< first token of the window
  int64_t first_scored = 0;  ///< first token that is scored
  int64_t end = 0;           ///< one past the last token
};

/// Parameters of a measurement, in tokens.
struct PerplexityPlan {
  int64_t window = 2048;
  int64_t stride = 2048;
  int64_t prefill = 0;  ///< number of tokens at the start of each window that are its prompt
  std::vector<int32_t> instruction = {};  ///< tokens of the instruction after each window's prompt
};

/// Returns the windows of a text. Throws UserError unless window >= 2, 1 <= stride <= window,
/// prefill < window, and `tokens` is at least 2 and above prefill.
std::vector<PerplexityWindow> perplexity_windows(int64_t tokens, int64_t window, int64_t stride,
                                                 int64_t prefill = 0);

/// Returns -ln p, where p is the probability of `target` in softmax(logits[0..vocab)). 0 <= target
/// < vocab.
double negative_log_likelihood(const float* logits, size_t vocab, int32_t target);

/// Computes the negative log-likelihood of the tokens of a text from rows of logits. An object of
/// this class can be PrefillHooks::all_logits during prefill of the text.
class NextTokenLosses {
 public:
  /// `tokens` is the text. The object scores tokens [from, to), with from >= 1.
  NextTokenLosses(std::span<const int32_t> tokens, size_t vocab, int64_t from, int64_t to);

  /// Adds `logits` [rows, vocab]. Row r holds the logits after token first + r, which predict the
  /// next token. Throws UserError if a result is not a finite number (engine/damaged_weights.h).
  void operator()(int64_t first, int64_t rows, const float* logits);

  /// Returns the negative log-likelihoods. Element i belongs to token `from` + i. It is 0 if no row
  /// has predicted this token yet.
  std::span<const double> losses() const { return losses_; }

 private:
  std::span<const int32_t> tokens_;
  size_t vocab_;
  int64_t from_, to_;
  std::vector<double> losses_;
};

struct PerplexityResult {
  int64_t tokens_scored = 0;
  double sum = 0;                   ///< sum of the negative log-likelihoods
  std::vector<double> window_sums;  ///< one sum for each window that was processed
  int64_t windows = 0;              ///< number of windows of the text
  double seconds = 0;
  size_t kv_bytes = 0;    ///< size in bytes of the largest KV cache of a window
  bool finished = false;  ///< false if the measurement was cancelled

  double mean() const;  ///< returns the mean negative log-likelihood per token
  double perplexity() const;
};

struct PerplexityHooks {
  /// Called with the number of processed tokens, the number of all tokens, and the result so far.
  std::function<void(int64_t done, int64_t total, const PerplexityResult& so_far)> progress;
  const CancelFlag* cancel = nullptr;
};

/// Measures the perplexity of a text.
PerplexityResult measure_perplexity(const std::shared_ptr<const Engine>& engine,
                                    const SessionOptions& session, std::span<const int32_t> tokens,
                                    const PerplexityPlan& plan, const PerplexityHooks& hooks = {});

}  // namespace longhaul
