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

bool better(const BestLogit& a, const BestLogit& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

bool allowed(std::span<const uint64_t> mask, size_t token) {
  return mask.empty() || (token / 64 < mask.size() && (mask[token / 64] >> (token % 64) & 1) != 0);
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

LogitSums best_of_row(std::span<const float> logits, const LogitRules& rules,
                      std::span<BestLogit> best, std::vector<float>& row,
                      std::vector<BestLogit>& candidates) {
  LogitSums sums;
  sums.not_finite = static_cast<int32_t>(
      std::ranges::count_if(logits, [](float logit) { return !std::isfinite(logit); }));
  row.assign(logits.begin(), logits.end());
  change_logits(rules, row);
  candidates.clear();
  for (size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i]) || row[i] == kNoCandidate || !allowed(rules.mask, i)) continue;
    candidates.push_back(
        {static_cast<int32_t>(i), std::min(row[i], std::numeric_limits<float>::max())});
  }
  const size_t some = std::min(best.size(), candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(some),
                    candidates.end(), better);
  std::copy_n(candidates.begin(), some, best.begin());
  std::fill(best.begin() + static_cast<ptrdiff_t>(some), best.end(), BestLogit{});
  sums.log_sum_exp = kNoCandidate;
  if (candidates.empty()) return sums;
  const double top = candidates.front().logit;
  double sum = 0;
  for (const BestLogit& each : candidates) sum += std::exp(each.logit - top);
  sums.log_sum_exp = static_cast<float>(top + std::log(sum));
  return sums;
}

}  // namespace

void best_logits(Queue& queue, View<float> logits, std::span<const LogitRules> rules, int k,
                 std::span<BestLogit> best, std::span<LogitSums> sums) {
  LH_ASSERT(k >= 1 && k <= kMostBestOfRow);
  LH_ASSERT(best.size() == rules.size() * static_cast<size_t>(k) && sums.size() == rules.size());
  if (rules.empty()) return;
  LH_ASSERT(logits.size() % std::ssize(rules) == 0);
  if (on_device(kBestLogits, queue, logits, rules, k, best, sums)) return;
  if (!queue.on_host()) {
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
}

}  // namespace longhaul
