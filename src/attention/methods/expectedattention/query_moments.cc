#include <algorithm>

#include "attention/methods/expectedattention/expected_attention.h"
#include "attention/methods/expectedattention/expected_kernels.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/thread_scratch.h"

namespace longhaul {
namespace {

/// Sets `origin` to the mean of the first rows, for each head.
void set_origin(const float* q, int64_t rows, int64_t width, std::span<float> origin) {
  const int64_t first = std::min<int64_t>(rows, kMomentRows);
  std::fill(origin.begin(), origin.end(), 0.0f);
  for (int64_t r = 0; r < first; ++r) {
    for (int64_t t = 0; t < width; ++t) origin[static_cast<size_t>(t)] += q[r * width + t];
  }
  for (float& x : origin) x /= static_cast<float>(first);
}

void resize(Queue& queue, QueryMoments& moments) {
  moments.origin.resize(queue, moments.width());
  moments.sums.resize(queue, moments.width());
  moments.products.resize(queue, moments.covariance ? moments.width() * moments.head_dim : 0);
}

}  // namespace

void add_query_moments(Queue& queue, View<const float> q, QueryMoments& moments) {
  const int heads = moments.heads, head_dim = moments.head_dim;
  LH_ASSERT(heads > 0 && head_dim > 0 && head_dim <= kMostHeadDim);
  const int64_t width = moments.width(), rows = q.size() / width;
  LH_ASSERT(q.size() == rows * width);
  if (rows == 0) return;
  if (!queue.on_host()) {
    if (moments.rows == 0) resize(queue, moments);
    if (moments.sums.view().place() == queue.place() &&
        on_device(kAddQueryMoments, queue, q, rows, heads, head_dim, moments)) {
      moments.rows += rows;
      return;
    }
    HostStage on(queue);
    return add_query_moments(host_queue(), on(q), moments);
  }
  const float* const from = host(q).data();
  if (moments.rows == 0) {
    resize(queue, moments);
    set_origin(from, rows, width, host(moments.origin.view()));
    std::ranges::fill(host(moments.sums.view()), 0.0);
    std::ranges::fill(host(moments.products.view()), 0.0);
  }
  LH_ASSERT(moments.sums.size() == width);
  const float* const origin = host(moments.origin.view()).data();
  double* const sums = host(moments.sums.view()).data();
  double* const all_products = host(moments.products.view()).data();
  const ExpectedKernels& kernels = kExpectedKernels_for(current_isa());
  parallel_for(heads, [&](int64_t head, int) {
    const int64_t at = head * head_dim;
    MomentUnit unit;
    unit.q = from + at;
    unit.rows = rows;
    unit.stride = width;
    unit.head_dim = head_dim;
    unit.origin = origin + at;
    unit.sums = sums + at;
    unit.products = moments.covariance ? all_products + at * head_dim : nullptr;
    kernels.add_moments(unit, thread_scratch(kernels.moments_scratch_bytes(head_dim)));
  });
  moments.rows += rows;
}

}  // namespace longhaul
