#include "attention/methods/keydiff/key_difference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/methods/keydiff/key_difference_kernels.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"

namespace longhaul {
namespace {

// Number of keys per partial sum. It is constant, so that the result does not depend on the number
// of threads.
constexpr int64_t kKeysOfASum = 1024;

}  // namespace

void key_difference(Queue& queue, const PagedRows& rows, View<float> scores) {
  if (on_device(kKeyDifference, queue, rows, scores)) return;
  if (!queue.on_host()) {
    HostCopies on(queue);
    return key_difference(host_queue(), on(rows, 0, scores.size()), on(scores));
  }
  LH_ASSERT(rows.head_dim > 0 && rows.head_dim <= kMostHeadDim);
  const int64_t keys = scores.size(), stretches = (keys + kKeysOfASum - 1) / kKeysOfASum;
  const auto dim = static_cast<size_t>(rows.head_dim);
  float* const out = host(scores).data();  // first holds the norms of the keys
  const KeyDifferenceKernels& kernels = kKeyDifferenceKernels_for(current_isa());
  std::vector<double> sums(static_cast<size_t>(stretches) * dim);
  const auto each_stretch = [&](auto&& visit) {
    parallel_for(stretches, [&](int64_t i, int) {
      visit(i, i * kKeysOfASum, std::min(kKeysOfASum, keys - i * kKeysOfASum));
    });
  };
  each_stretch([&](int64_t i, int64_t begin, int64_t count) {
    kernels.add_directions(rows, begin, count, sums.data() + static_cast<size_t>(i) * dim,
                           out + begin);
  });
  std::vector<float> anchor(dim);
  double square = 0;
  for (size_t t = 0; t < dim; ++t) {
    double sum = 0;
    for (size_t at = t; at < sums.size(); at += dim) sum += sums[at];
    const double mean = sum / static_cast<double>(keys);
    anchor[t] = static_cast<float>(mean);
    square += mean * mean;
  }
  // Norms are limited to at least 1e-8, so that the cosine of a zero vector is zero.
  constexpr float kLeastLength = 1e-8f;
  const float length = std::max(static_cast<float>(std::sqrt(square)), kLeastLength);
  each_stretch([&](int64_t, int64_t begin, int64_t count) {
    float products[kKeysOfASum];
    kernels.products(rows, begin, count, anchor.data(), products);
    for (int64_t i = 0; i < count; ++i) {
      out[begin + i] = -products[i] / (std::max(out[begin + i], kLeastLength) * length);
    }
  });
}

}  // namespace longhaul
