#include "ops/core/best_logits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/host_stage.h"
#include "base/on_device.h"

namespace longhaul {
namespace {

constexpr float kNoCandidate = -std::numeric_limits<float>::infinity();
constexpr size_t kLogitsOfBlock = 256;  // logits that are compared together

/// Whether token `i` is a candidate. A comparison with NaN is false.
bool is_candidate(std::span<const float> row, std::span<const uint64_t> mask, size_t i) {
  const bool allowed = mask.empty() || (i / 64 < mask.size() && (mask[i / 64] >> (i % 64) & 1));
  return allowed && row[i] > kNoCandidate;
}

float finite(float logit) { return std::min(logit, std::numeric_limits<float>::max()); }

float largest_of(std::span<const float> logits) {
  float largest = kNoCandidate;
#pragma omp simd reduction(max : largest)
  for (size_t i = 0; i < logits.size(); ++i) {
    largest = logits[i] > largest ? logits[i] : largest;
  }
  return largest;
}

LogitSums best_of_row(std::span<const float> logits, const LogitRules& rules,
                      std::span<BestLogit> best, std::vector<float>& row,
                      std::vector<BestLogit>& candidates) {
  LogitSums sums;
  sums.not_finite = static_cast<int32_t>(
      std::ranges::count_if(logits, [](float logit) { return !std::isfinite(logit); }));
  row.assign(logits.begin(), logits.end());
  change_logits(rules, row);
  collect_candidates(row, rules.mask, best.size(), candidates);
  std::ranges::sort(candidates, better);
  std::ranges::fill(best, BestLogit{});
  std::ranges::copy(candidates, best.begin());
  sums.log_sum_exp = kNoCandidate;
  if (candidates.empty()) return sums;
  const double top = candidates.front().logit;
  double sum = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (is_candidate(row, rules.mask, i)) sum += std::exp(finite(row[i]) - top);
  }
  sums.log_sum_exp = static_cast<float>(top + std::log(sum));
  return sums;
}

}  // namespace

bool better(const BestLogit& a, const BestLogit& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

void change_logits(const LogitRules& rules, std::span<float> row) {
  const auto inside = [&](int32_t token) {
    return token >= 0 && static_cast<size_t>(token) < row.size();
  };
  for (const int32_t token : rules.repeated) {
    if (!inside(token)) continue;
    float& logit = row[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / rules.repeat_penalty : logit * rules.repeat_penalty;
  }
  for (const LogitBias& bias : rules.biases) {
    if (inside(bias.token)) row[static_cast<size_t>(bias.token)] += bias.add;
  }
}

/// The candidates are a heap with the worst in front.
void collect_candidates(std::span<const float> row, std::span<const uint64_t> mask, size_t most,
                        std::vector<BestLogit>& candidates) {
  candidates.clear();
  for (size_t block = 0; block < row.size(); block += kLogitsOfBlock) {
    const size_t end = std::min(block + kLogitsOfBlock, row.size());
    const bool full = most > 0 && candidates.size() == most;
    if (full && !(largest_of(row.subspan(block, end - block)) > candidates.front().logit)) {
      continue;  // no logit of the block is among the best
    }
    for (size_t i = block; i < end; ++i) {
      if (!is_candidate(row, mask, i)) continue;
      const BestLogit candidate{static_cast<int32_t>(i), finite(row[i])};
      if (most > 0 && candidates.size() == most) {
        if (!better(candidate, candidates.front())) continue;
        std::ranges::pop_heap(candidates, better);
        candidates.pop_back();
      }
      candidates.push_back(candidate);
      if (most > 0) std::ranges::push_heap(candidates, better);
    }
  }
}

void best_logits(Queue& queue, View<float> logits, std::span<const LogitRules> rules, int k,
                 std::span<BestLogit> best, std::span<LogitSums> sums) {
  const uint64_t event = begin_best_logits(queue, logits, rules, k, best, sums);
  end_best_logits(queue, event);
}

void end_best_logits(Queue& queue, uint64_t event) {
  if (event == 0 || on_device(kEndBestLogits, queue, event)) return;
  queue.device().wait_for(event);
}

uint64_t begin_best_logits(Queue& queue, View<float> logits, std::span<const LogitRules> rules,
                           int k, std::span<BestLogit> best, std::span<LogitSums> sums) {
  LH_ASSERT(k >= 1 && k <= kMostBestOfRow);
  LH_ASSERT(best.size() == rules.size() * static_cast<size_t>(k) && sums.size() == rules.size());
  if (rules.empty()) return 0;
  LH_ASSERT(logits.size() % std::ssize(rules) == 0);
  if (on_device(kBestLogits, queue, logits, rules, k, best, sums)) {
    return queue.device().record_event();
  }
  HostStage on(queue);
  const std::span<const float> all = host(on(View<const float>(logits)));
  const size_t n = all.size() / rules.size();
  std::vector<float> row;
  std::vector<BestLogit> candidates;
  for (size_t r = 0; r < rules.size(); ++r) {
    const auto first = r * static_cast<size_t>(k);
    sums[r] = best_of_row(all.subspan(r * n, n), rules[r],
                          best.subspan(first, static_cast<size_t>(k)), row, candidates);
  }
  return 0;
}

}  // namespace longhaul
