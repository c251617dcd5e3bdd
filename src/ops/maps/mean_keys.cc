#include "ops/maps/mean_keys.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/maps/mean_kernels.h"

namespace longhaul {

void mean_keys(Queue& queue, const PagedRows& rows, int64_t count, int block, View<float> out) {
  if (on_device(kMeanKeys, queue, rows, count, block, out)) return;
  if (!queue.on_host()) {
    HostCopies on(queue);
    return mean_keys(host_queue(), on(rows, 0, count), count, block, on(out));
  }
  LH_ASSERT(block > 0 && rows.head_dim > 0 && rows.head_dim <= 1024);
  const MeanKernels& kernels = kMeanKernels_for(current_isa());
  const int64_t blocks = (count + block - 1) / block;
  LH_ASSERT(out.size() >= blocks * rows.head_dim);
  float* const means = host(out).data();
  parallel_ranges(blocks, 16, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      kernels.keys(rows, b * block, std::min(count, (b + 1) * block), means + b * rows.head_dim);
    }
  });
}

void KeyMeans::average(Queue& queue, std::span<const PagedRows> lists,
                       std::span<const uint8_t> only, const TileGrid& grid) {
  each_ = grid.blocks() * lists.front().head_dim;
  const View<float> means = means_.resize(queue, std::ssize(lists) * each_);
  for (size_t list = 0; list < lists.size(); ++list) {
    if (!only.empty() && only[list] == 0) continue;
    mean_keys(queue, lists[list], grid.keys(), grid.tile,
              means.part(static_cast<int64_t>(list) * each_, each_));
  }
}

void mean_query(Queue& queue, View<const float> q, int heads, int head_dim, int head, int64_t begin,
                int64_t end, View<float> out) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return mean_query(host_queue(), on(q), heads, head_dim, head, begin, end, on(out));
  }
  LH_ASSERT(begin >= 0 && begin < end && head >= 0 && head < heads);
  LH_ASSERT(q.size() >= end * heads * head_dim && out.size() >= head_dim);
  float* const mean = host(out).data();
  std::fill_n(mean, head_dim, 0.0f);
  for (int64_t r = begin; r < end; ++r) {
    const float* row = host(q).data() + (r * heads + head) * head_dim;
    for (int t = 0; t < head_dim; ++t) mean[t] += row[t];
  }
  for (int t = 0; t < head_dim; ++t) mean[t] /= static_cast<float>(end - begin);
}

void mean_scores(Queue& queue, View<const float> query, View<const float> means, int64_t blocks,
                 int head_dim, float scale, View<float> scores) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return mean_scores(host_queue(), on(query), on(means), blocks, head_dim, scale, on(scores));
  }
  LH_ASSERT(query.size() >= head_dim);
  LH_ASSERT(means.size() >= blocks * head_dim && scores.size() >= blocks);
  kMeanKernels_for(current_isa())
      .scores(host(query).data(), host(means).data(), blocks, head_dim, scale, host(scores).data());
}

void softmax_of(Queue& queue, View<float> of) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return softmax_of(host_queue(), on(of));
  }
  const std::span<float> scores = host(of);
  if (scores.empty()) return;
  const float top = *std::max_element(scores.begin(), scores.end());
  float sum = 0.0f;
  for (float& s : scores) sum += s = std::exp(s - top);
  for (float& s : scores) s /= sum;
}

}  // namespace longhaul
