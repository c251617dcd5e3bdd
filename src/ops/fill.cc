#include "ops/fill.h"

#include <algorithm>

namespace longhaul {

void fill(Queue& queue, View<float> x, float value) {
  LH_ASSERT(queue.on_host());
  const std::span<float> numbers = host(x);
  std::fill(numbers.begin(), numbers.end(), value);
}

void copy(Queue& queue, View<const float> from, View<float> to) {
  LH_ASSERT(queue.on_host() && from.size() == to.size());
  const std::span<const float> numbers = host(from);
  std::copy(numbers.begin(), numbers.end(), host(to).begin());
}

void sum_lists(Queue& queue, View<const float> x, View<float> out) {
  fill(queue, out, 0.0f);
  add_lists(queue, x, out);
}

void add_lists(Queue& queue, View<const float> x, View<float> out) {
  LH_ASSERT(queue.on_host());
  const int64_t n = out.size();
  LH_ASSERT(n == 0 ? x.empty() : x.size() % n == 0);
  const std::span<const float> lists = host(x);
  const std::span<float> sums = host(out);
  for (size_t first = 0; first < lists.size(); first += sums.size()) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += lists[first + i];
  }
}

}  // namespace longhaul
