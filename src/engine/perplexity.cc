#include "engine/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/units.h"
#include "engine/damaged_weights.h"

namespace longhaul {
namespace {

/// Returns the sum of the negative log-likelihoods of a window's scored tokens, or nothing if the
/// measurement was cancelled.
std::optional<double> score_window(Session& session, std::span<const int32_t> tokens,
                                   const PerplexityWindow& window, const PerplexityPlan& plan,
                                   const PerplexityHooks& hooks) {
  // The last token need not be processed, because the logits after it are not used.
  const int64_t length = window.end - 1 - window.begin;
  const int64_t in_prompt = plan.prefill > 0 ? plan.prefill : length;
  const auto text = tokens.subspan(static_cast<size_t>(window.begin));
  const auto vocab = static_cast<size_t>(session.engine().model().config.vocab);
  NextTokenLosses scorer(text, vocab, window.first_scored - window.begin,
                         window.end - window.begin);
  std::vector<int32_t> prompt(text.begin(), text.begin() + in_prompt);
  prompt.insert(prompt.end(), plan.instruction.begin(), plan.instruction.end());
  const int64_t total = length + std::ssize(plan.instruction);

  PrefillHooks pass;
  // These tokens are processed like a reply, also in the memory forecast.
  pass.reply = length - in_prompt;
  pass.cancel = hooks.cancel;
  pass.instruction = std::ssize(plan.instruction);
  if (plan.prefill == 0) pass.all_logits = std::ref(scorer);
  if (hooks.progress) {
    pass.progress = [&](int64_t read, int64_t) { hooks.progress(read, total, {}); };
  }
  if (!session.prefill(prompt, pass)) return {};
  for (int64_t read = in_prompt; plan.prefill > 0; ++read) {
    scorer(read - 1, 1, session.logits().data());
    if (read == length) break;
    if (requested(hooks.cancel)) return {};
    session.decode(text[static_cast<size_t>(read)]);
    if (hooks.progress) hooks.progress(read + 1 + std::ssize(plan.instruction), total, {});
  }
  return std::accumulate(scorer.losses().begin(), scorer.losses().end(), 0.0);
}

}  // namespace

double negative_log_likelihood(const float* logits, size_t vocab, int32_t target) {
  LH_ASSERT(target >= 0 && static_cast<size_t>(target) < vocab);
  const double best = *std::max_element(logits, logits + vocab);
  double total = 0;
  for (size_t i = 0; i < vocab; ++i) total += std::exp(logits[i] - best);
  return best + std::log(total) - logits[static_cast<size_t>(target)];
}

NextTokenLosses::NextTokenLosses(std::span<const int32_t> tokens, size_t vocab, int64_t from,
                                 int64_t to)
    : tokens_(tokens), vocab_(vocab), from_(from), to_(to) {
  LH_ASSERT(from >= 1 && from <= to && to <= std::ssize(tokens));
  losses_.resize(static_cast<size_t>(to - from));
}

void NextTokenLosses::operator()(int64_t first, int64_t rows, const float* logits) {
  parallel_for(rows, [&](int64_t r, int) {
    const int64_t predicted = first + r + 1;
    if (predicted < from_ || predicted >= to_) return;
    losses_[static_cast<size_t>(predicted - from_)] = negative_log_likelihood(
        logits + static_cast<size_t>(r) * vocab_, vocab_, tokens_[static_cast<size_t>(predicted)]);
  });
  const int64_t begin = std::max<int64_t>(first + 1 - from_, 0);
  const int64_t end = std::min(first + 1 + rows - from_, std::ssize(losses_));
  for (int64_t i = begin; i < end; ++i) {
    if (!std::isfinite(losses_[static_cast<size_t>(i)])) refuse_damaged_weights();
  }
}

double PerplexityResult::mean() const {
  return tokens_scored > 0 ? sum / static_cast<double>(tokens_scored) : 0;
}
double PerplexityResult::perplexity() const { return std::exp(mean()); }

std::vector<PerplexityWindow> perplexity_windows(int64_t tokens, int64_t window, int64_t stride,
                                                 int64_t prefill) {
  if (window < 2) user_error("--ctx {}: a window needs at least 2 tokens", window);
  if (prefill < 0 || prefill >= window) {
    user_error("--prefill {}: it must be less than --ctx {}", prefill, window);
  }
  if (stride < 1 || stride > window) {
    user_error("--stride {}: it must lie between 1 and --ctx {}", stride, window);
  }
  const int64_t least = std::max<int64_t>(2, prefill + 1);
  if (tokens < least) {
    user_error("the text has {}; at least {} are needed", counted(tokens, "token"),
               with_commas(least));
  }
  std::vector<PerplexityWindow> windows;
  int64_t scored_to = 0;
  for (int64_t begin = 0;; begin += stride) {
    const int64_t end = std::min(begin + window, tokens);
    const int64_t first = begin + std::max<int64_t>(1, prefill);
    windows.push_back({begin, std::max(first, scored_to), end});
    if (end == tokens) return windows;
    scored_to = end;
  }
}

PerplexityResult measure_perplexity(const std::shared_ptr<const Engine>& engine,
                                    const SessionOptions& options, std::span<const int32_t> tokens,
                                    const PerplexityPlan& plan, const PerplexityHooks& hooks) {
  const Stopwatch watch;
  // Check all tokens here, because the last token of a window is scored but not processed.
  engine->check_known(tokens);
  const auto windows = perplexity_windows(static_cast<int64_t>(tokens.size()), plan.window,
                                          plan.stride, plan.prefill);
  const auto to_read = [&](const PerplexityWindow& w) {
    if (w.first_scored >= w.end) return int64_t{0};  // the last window may have no new tokens
    return w.end - 1 - w.begin + std::ssize(plan.instruction);
  };
  int64_t total = 0, done = 0;
  for (const auto& w : windows) total += to_read(w);

  PerplexityResult result;
  result.windows = std::ssize(windows);
  for (const PerplexityWindow& w : windows) {
    if (to_read(w) == 0) {
      result.window_sums.push_back(0);
      continue;
    }
    PerplexityHooks window_hooks = hooks;
    if (hooks.progress) {
      window_hooks.progress = [&](int64_t read, int64_t, const PerplexityResult&) {
        hooks.progress(done + read, total, result);
      };
    }
    Session session(engine, options);
    const auto sum = score_window(session, tokens, w, plan, window_hooks);
    if (!sum) break;
    done += to_read(w);
    result.window_sums.push_back(*sum);
    result.sum += *sum;
    result.tokens_scored += w.end - w.first_scored;
    result.kv_bytes = std::max(result.kv_bytes, session.report().kv_bytes);
  }
  result.finished = result.window_sums.size() == windows.size();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace longhaul
