#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/damaged_weights.h"

namespace longhaul {

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> history,
                        std::span<const uint64_t> mask) {
  // All samplers of a thread share this buffer of 8 bytes per token of the vocabulary.
  thread_local std::vector<BestLogit> memory;
  candidates_.swap(memory);
  collect(logits, history, mask);
  int32_t chosen = -1;
  if (!candidates_.empty() && options_.temperature <= 0) {
    chosen = candidates_.front().token;
  } else if (!candidates_.empty()) {
    sort_top_k();
    keep_top_p();
    keep_min_p();
    chosen = draw();
  }
  candidates_.swap(memory);
  if (chosen < 0) refuse_damaged_weights();
  return chosen;
}

/// Returns the tokens to which the repeat penalty applies.
std::vector<int32_t> Sampler::repeated(std::span<const int32_t> history) const {
  const size_t recent = std::min(history.size(), static_cast<size_t>(options_.repeat_last));
  std::vector<int32_t> ids(history.end() - static_cast<ptrdiff_t>(recent), history.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// Sets candidates_ to the tokens with the highest logits: one at temperature 0, otherwise top_k,
/// or all tokens if top_k is not set.
void Sampler::collect(std::span<const float> logits, std::span<const int32_t> history,
                      std::span<const uint64_t> mask) {
  thread_local std::vector<float> changed;
  if (options_.repeat_penalty != 1) {
    changed.assign(logits.begin(), logits.end());
    const std::vector<int32_t> ids = repeated(history);
    change_logits({.repeat_penalty = options_.repeat_penalty, .repeated = ids}, changed);
    logits = changed;
  }
  const int most = options_.temperature <= 0 ? 1 : std::max(options_.top_k, 0);
  collect_candidates(logits, mask, static_cast<size_t>(most), candidates_);
}

/// Sorts the candidates. If top_k is not set, only the best candidate is moved to the front,
/// because keep_top_p() sorts as many candidates as it needs.
void Sampler::sort_top_k() {
  const auto sorted = options_.top_k > 0 ? candidates_.end() : candidates_.begin() + 1;
  std::partial_sort(candidates_.begin(), sorted, candidates_.end(), better);
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  const double best = candidates_.front().logit;
  double total = 0;
  for (const BestLogit& c : candidates_) total += std::exp(c.logit - best);
  double mass = 0;
  size_t sorted = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i == sorted) {
      const size_t next = std::min(candidates_.size(), std::max<size_t>(64, 4 * sorted));
      std::partial_sort(candidates_.begin() + static_cast<ptrdiff_t>(sorted),
                        candidates_.begin() + static_cast<ptrdiff_t>(next), candidates_.end(),
                        better);
      sorted = next;
    }
    mass += std::exp(candidates_[i].logit - best);
    if (mass >= static_cast<double>(options_.top_p) * total) {
      candidates_.resize(i + 1);
      return;
    }
  }
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0) return;
  const double least = candidates_.front().logit + std::log(static_cast<double>(options_.min_p));
  std::erase_if(candidates_, [least](const BestLogit& c) { return c.logit < least; });
}

int32_t Sampler::draw() {
  const double best = candidates_.front().logit;
  const auto weight = [&](const BestLogit& c) {
    return std::exp((c.logit - best) / static_cast<double>(options_.temperature));
  };
  double total = 0;
  for (const BestLogit& c : candidates_) total += weight(c);
  const double share = static_cast<double>(random_() >> 11) * 0x1p-53;  // uniform in [0, 1)
  double left = share * total;
  for (const BestLogit& c : candidates_) {
    left -= weight(c);
    if (left < 0) return c.token;
  }
  return candidates_.back().token;
}

}  // namespace longhaul
