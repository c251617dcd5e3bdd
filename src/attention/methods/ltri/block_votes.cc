#include "attention/methods/ltri/block_votes.h"

#include <algorithm>
#include <numeric>

#include "base/on_device.h"
#include "ops/core/fill.h"

namespace longhaul {

void add_weight(Queue& queue, const RowList& chosen, float weight, View<float> weights) {
  if (chosen.count.empty() && on_device(kAddWeight, queue, chosen.rows, weight, weights)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    return add_weight(host_queue(), on_host(on, chosen), weight, on(weights));
  }
  const std::span<float> to = host(weights);
  for (const int32_t block : host_rows(chosen)) to[static_cast<size_t>(block)] += weight;
}

RowList most_weighted(Queue& queue, View<const float> weights, View<const float> scores, int64_t k,
                      BlockVote& memory) {
  LH_ASSERT(weights.size() == scores.size());
  const int64_t blocks = weights.size(), count = std::min(blocks, k);
  if (!queue.on_host()) {
    const View<int32_t> best = memory.order.resize(queue, count);
    const bool there = count < blocks && on_device(kMostWeighted, queue, weights, scores, best);
    if (there) return {best, {}};
    HostStage on(queue);
    return most_weighted(host_queue(), on(weights), on(scores), k, memory);
  }
  const std::span<int32_t> order = host(memory.order.resize(queue, blocks));
  std::iota(order.begin(), order.end(), 0);
  const std::span<const float> weight = host(weights), score = host(scores);
  const auto better = [&](int32_t a, int32_t b) {
    const size_t x = static_cast<size_t>(a), y = static_cast<size_t>(b);
    if (weight[x] != weight[y]) return weight[x] > weight[y];
    return score[x] != score[y] ? score[x] > score[y] : a < b;
  };
  const auto end = order.begin() + count;
  std::nth_element(order.begin(), end, order.end(), better);
  std::sort(order.begin(), end);
  return {memory.order.view().part(0, count), {}};
}

void BlockVotes::clear(Queue& queue, int64_t blocks) {
  fill(queue, weights_.resize(queue, blocks), 0);
  any_ = false;
}

void BlockVotes::add(Queue& queue, const RowList& chosen, float weight, View<const float> scores) {
  add_weight(queue, chosen, weight, weights_.view());
  copy(queue, scores, latest_.resize(queue, scores.size()));
  any_ = true;
}

RowList BlockVotes::best(Queue& queue, int64_t k) {
  return most_weighted(queue, weights_.view(), latest_.view(), k, memory_);
}

}  // namespace longhaul
