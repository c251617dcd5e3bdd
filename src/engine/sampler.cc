#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/damaged_weights.h"

namespace longhaul {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

constexpr size_t kBlock = 256;  // logits that are compared together

float largest_of(std::span<const float> logits) {
  float largest = kImpossible;
#pragma omp simd reduction(max : largest)
  for (size_t i = 0; i < logits.size(); ++i) {
    largest = logits[i] > largest ? logits[i] : largest;
  }
  return largest;
}

float penalised(float logit, float penalty) {
  return logit > 0 ? logit / penalty : logit * penalty;
}

}  // namespace

bool Sampler::better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> history,
                        std::span<const uint64_t> mask) {
  // The samplers of a thread share this memory, which has 8 bytes for each token of the vocabulary.
  thread_local std::vector<Candidate> memory;
  candidates_.swap(memory);
  collect(logits, history, mask);
  int32_t chosen = -1;
  if (!candidates_.empty() && options_.temperature <= 0) {
    chosen = candidates_.front().id;
  } else if (!candidates_.empty()) {
    keep_top_k();
    keep_top_p();
    keep_min_p();
    chosen = draw();
  }
  candidates_.swap(memory);
  if (chosen < 0) refuse_damaged_weights();
  return chosen;
}

/// The tokens to which the repeat penalty applies, in ascending order.
std::vector<int32_t> Sampler::repeated(std::span<const int32_t> history) const {
  if (options_.repeat_penalty == 1) return {};
  const size_t recent = std::min(history.size(), static_cast<size_t>(options_.repeat_last));
  std::vector<int32_t> ids(history.end() - static_cast<ptrdiff_t>(recent), history.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase_if(ids, [](int32_t id) { return id < 0; });
  return ids;
}

/// Collects the best candidates: one for temperature 0, else top_k, as a heap with the worst in
/// front. Without a top_k it collects all.
void Sampler::collect(std::span<const float> logits, std::span<const int32_t> history,
                      std::span<const uint64_t> mask) {
  candidates_.clear();
  const size_t most =
      options_.temperature <= 0 ? 1 : static_cast<size_t>(std::max(options_.top_k, 0));
  const std::vector<int32_t> penalties = repeated(history);
  auto penalty = penalties.begin();
  for (size_t block = 0; block < logits.size(); block += kBlock) {
    const size_t end = std::min(block + kBlock, logits.size());
    const bool punishes = penalty != penalties.end() && static_cast<size_t>(*penalty) < end;
    if (!punishes && most > 0 && candidates_.size() == most &&
        !(largest_of(logits.subspan(block, end - block)) > candidates_.front().logit)) {
      continue;  // no logit of the block is among the best
    }
    for (size_t i = block; i < end; ++i) {
      float logit = logits[i];
      if (penalty != penalties.end() && static_cast<size_t>(*penalty) == i) {
        logit = penalised(logit, options_.repeat_penalty);
        ++penalty;
      }
      const bool allowed = mask.empty() || (i / 64 < mask.size() && (mask[i / 64] >> i % 64 & 1));
      // One +inf would turn every probability into NaN. With the largest number in its place the
      // token simply has probability 1. A comparison with NaN is false.
      if (allowed && logit > kImpossible) {
        keep({std::min(logit, std::numeric_limits<float>::max()), static_cast<int32_t>(i)}, most);
      }
    }
  }
}

/// Adds a candidate if it is among the best `most`; 0: adds it in any case, and sorts nothing.
void Sampler::keep(const Candidate& candidate, size_t most) {
  if (most == 0 || candidates_.size() < most) {
    candidates_.push_back(candidate);
    if (most > 0) std::push_heap(candidates_.begin(), candidates_.end(), better);
  } else if (better(candidate, candidates_.front())) {
    std::pop_heap(candidates_.begin(), candidates_.end(), better);
    candidates_.back() = candidate;
    std::push_heap(candidates_.begin(), candidates_.end(), better);
  }
}

void Sampler::keep_top_k() {
  const size_t wanted = static_cast<size_t>(std::max(options_.top_k, 0));
  const size_t k = wanted == 0 ? candidates_.size() : std::min(wanted, candidates_.size());
  // Without a k only the best one is moved to the front: keep_top_p sorts as far as necessary.
  const size_t sorted = wanted == 0 ? 1 : k;
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(sorted),
                    candidates_.end(), better);
  candidates_.resize(k);
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  const double best = candidates_.front().logit;
  double total = 0;
  for (const Candidate& c : candidates_) total += std::exp(c.logit - best);
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
  std::erase_if(candidates_, [least](const Candidate& c) { return c.logit < least; });
}

int32_t Sampler::draw() {
  const double best = candidates_.front().logit;
  const auto weight = [&](const Candidate& c) {
    return std::exp((c.logit - best) / static_cast<double>(options_.temperature));
  };
  double total = 0;
  for (const Candidate& c : candidates_) total += weight(c);
  const double share = static_cast<double>(random_() >> 11) * 0x1p-53;  // uniform in [0, 1)
  double left = share * total;
  for (const Candidate& c : candidates_) {
    left -= weight(c);
    if (left < 0) return c.id;
  }
  return candidates_.back().id;
}

}  // namespace longhaul
