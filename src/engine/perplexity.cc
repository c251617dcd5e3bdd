#include "engine/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

/// Scores rows of logits against the tokens that follow them.
struct WindowScorer {
  std::span<const int32_t> tokens;  ///< of the whole text
  PerplexityWindow window;
  size_t vocab;
  std::vector<double> scores;  ///< by token - window.first_scored

  /// Row r of the call belongs to token window.begin + r and predicts the next one.
  void operator()(int64_t first, int64_t rows, const float* logits) {
    parallel_for(rows, [&](int64_t r, int) {
      const int64_t predicted = window.begin + first + r + 1;
      if (predicted < window.first_scored || predicted >= window.end) return;
      scores[static_cast<size_t>(predicted - window.first_scored)] = negative_log_likelihood(
          logits + static_cast<size_t>(r) * vocab, vocab, tokens[static_cast<size_t>(predicted)]);
    });
  }
};

}  // namespace

double negative_log_likelihood(const float* logits, size_t vocab, int32_t target) {
  const double best = *std::max_element(logits, logits + vocab);
  double total = 0;
  for (size_t i = 0; i < vocab; ++i) total += std::exp(logits[i] - best);
  return best + std::log(total) - logits[static_cast<size_t>(target)];
}

double PerplexityResult::mean() const {
  return tokens_scored > 0 ? sum / static_cast<double>(tokens_scored) : 0;
}
double PerplexityResult::perplexity() const { return std::exp(mean()); }

std::vector<PerplexityWindow> perplexity_windows(int64_t tokens, int64_t window, int64_t stride) {
  if (window < 2) user_error("--ctx {}: a window needs at least 2 tokens", window);
  if (stride < 1 || stride > window) {
    user_error("--stride {}: it must lie between 1 and --ctx {}", stride, window);
  }
  if (tokens < 2) user_error("the text has {} tokens; at least 2 are needed", tokens);
  std::vector<PerplexityWindow> windows;
  int64_t scored_to = 0;
  for (int64_t begin = 0;; begin += stride) {
    const int64_t end = std::min(begin + window, tokens);
    windows.push_back({begin, std::max(begin + 1, scored_to), end});
    if (end == tokens) return windows;
    scored_to = end;
  }
}

PerplexityResult measure_perplexity(const std::shared_ptr<const Engine>& engine,
                                    const SessionOptions& options, std::span<const int32_t> tokens,
                                    int64_t window, int64_t stride, const PerplexityHooks& hooks) {
  const Stopwatch watch;
  const auto windows = perplexity_windows(static_cast<int64_t>(tokens.size()), window, stride);
  int64_t total = 0, done = 0;
  for (const auto& w : windows) total += w.end - 1 - w.begin;

  PerplexityResult result;
  for (const PerplexityWindow& w : windows) {
    if (w.first_scored >= w.end) {  // a last window of one token
      result.window_sums.push_back(0);
      continue;
    }
    WindowScorer scorer{tokens, w, static_cast<size_t>(engine->model().config.vocab), {}};
    scorer.scores.resize(static_cast<size_t>(w.end - w.first_scored));
    PrefillHooks pass;
    pass.cancel = hooks.cancel;
    pass.all_logits = std::ref(scorer);
    if (hooks.progress) {
      pass.progress = [&](int64_t read, int64_t) { hooks.progress(done + read, total, result); };
    }
    Session session(engine, options);
    const int64_t length = w.end - 1 - w.begin;  // nothing is asked of the last token's logits
    const auto prompt = tokens.subspan(static_cast<size_t>(w.begin), static_cast<size_t>(length));
    if (!session.prefill(prompt, pass)) break;
    done += length;
    double sum = 0;
    for (const double score : scorer.scores) sum += score;
    result.window_sums.push_back(sum);
    result.sum += sum;
    result.tokens_scored += w.end - w.first_scored;
    result.kv_bytes = std::max(result.kv_bytes, session.report().kv_bytes);
  }
  result.finished = result.window_sums.size() == windows.size();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace longhaul
