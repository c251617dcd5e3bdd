#include "ops/core/fill.h"

#include <algorithm>

#include "base/on_device.h"

namespace longhaul {

void fill(Queue& queue, View<float> x, float value) {
  if (on_device(kFill, queue, x, value)) return;
  HostStage on(queue);
  const std::span<float> numbers = host(on(x));
  std::fill(numbers.begin(), numbers.end(), value);
}

void copy(Queue& queue, View<const float> from, View<float> to) {
  LH_ASSERT(from.size() == to.size());
  if (!queue.on_host()) {
    const size_t bytes = static_cast<size_t>(from.size()) * sizeof(float);
    DeviceQueue& device = queue.device();
    if (bytes == 0) return;
    if (from.place().host()) return device.upload(from.address(), to.address(), bytes);
    if (to.place().host()) return device.download(from.address(), to.address(), bytes);
    return device.copy(from.address(), to.address(), bytes);
  }
  const std::span<const float> numbers = host(from);
  std::copy(numbers.begin(), numbers.end(), host(to).begin());
}

void copy_lists(Queue& queue, std::span<const View<const float>> from,
                std::span<const View<float>> to) {
  LH_ASSERT(from.size() == to.size());
  std::vector<DeviceBytes> pieces;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool there = !from[i].place().host() && !to[i].place().host();
    if (!there) {
      copy(queue, from[i], to[i]);
      continue;
    }
    LH_ASSERT(from[i].size() == to[i].size());
    pieces.push_back(
        {from[i].address(), to[i].address(), static_cast<size_t>(from[i].size()) * sizeof(float)});
  }
  if (!pieces.empty()) queue.device().copy_all(pieces);
}

void sum_lists(Queue& queue, View<const float> x, View<float> out) {
  sum_groups(queue, {&x, 1}, {&out, 1});
}

void sum_groups(Queue& queue, std::span<const View<const float>> x,
                std::span<const View<float>> out) {
  LH_ASSERT(x.size() == out.size());
  if (on_device(kSumGroups, queue, x, out)) return;
  for (size_t i = 0; i < x.size(); ++i) {
    fill(queue, out[i], 0.0f);
    add_lists(queue, x[i], out[i]);
  }
}

void add_lists(Queue& queue, View<const float> x, View<float> out) {
  if (on_device(kAddLists, queue, x, out)) return;
  HostStage on(queue);
  const int64_t n = out.size();
  LH_ASSERT(n == 0 ? x.empty() : x.size() % n == 0);
  const std::span<const float> lists = host(on(x));
  const std::span<float> sums = host(on(out));
  for (size_t first = 0; first < lists.size(); first += sums.size()) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += lists[first + i];
  }
}

}  // namespace longhaul
