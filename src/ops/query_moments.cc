#include <algorithm>

#include "base/parallel.h"
#include "ops/cpu/expected_kernels.h"
#include "ops/expected_attention.h"
#include "ops/thread_scratch.h"

namespace longhaul {
namespace {

/// The mean of the first rows of each head.
void set_origin(const float* q, int64_t rows, int heads, int head_dim, std::vector<float>& origin) {
  const int64_t width = int64_t{heads} * head_dim, first = std::min<int64_t>(rows, kMomentRows);
  origin.assign(static_cast<size_t>(width), 0.0f);
  for (int64_t r = 0; r < first; ++r) {
    for (int64_t t = 0; t < width; ++t) origin[static_cast<size_t>(t)] += q[r * width + t];
  }
  for (float& x : origin) x /= static_cast<float>(first);
}

}  // namespace

void add_query_moments(Queue& queue, View<const float> q, int64_t rows, int heads, int head_dim,
                       bool covariance, QueryMoments& moments) {
  const int64_t width = int64_t{heads} * head_dim;
  if (!queue.on_host()) {
    HostStage on(queue);
    return add_query_moments(host_queue(), on(q), rows, heads, head_dim, covariance, moments);
  }
  LH_ASSERT(rows >= 0 && q.size() >= rows * width);
  LH_ASSERT(head_dim > 0 && head_dim <= kMostHeadDim);
  if (rows == 0) return;
  const float* const from = host(q).data();
  const size_t products = covariance ? static_cast<size_t>(width * head_dim) : 0;
  if (moments.rows == 0) {
    set_origin(from, rows, heads, head_dim, moments.origin);
    moments.sums.assign(static_cast<size_t>(width), 0.0);
    moments.products.assign(products, 0.0);
  }
  LH_ASSERT(moments.sums.size() == static_cast<size_t>(width));
  LH_ASSERT(moments.products.size() == products);
  const ExpectedKernels& kernels = kExpectedKernels_for(current_isa());
  parallel_for(heads, [&](int64_t head, int) {
    const int64_t at = head * head_dim;
    MomentUnit unit;
    unit.q = from + at;
    unit.rows = rows;
    unit.stride = width;
    unit.head_dim = head_dim;
    unit.origin = moments.origin.data() + at;
    unit.sums = moments.sums.data() + at;
    unit.products = covariance ? moments.products.data() + at * head_dim : nullptr;
    kernels.add_moments(unit, thread_scratch(kernels.moments_scratch_bytes(head_dim)));
  });
  moments.rows += rows;
}

}  // namespace longhaul
