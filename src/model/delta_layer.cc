#include "model/delta_layer.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace longhaul {
namespace {

const LowRank* adapter_of(const LayerAdapters* adapters, LowRank LayerAdapters::*matrix) {
  if (adapters == nullptr || (adapters->*matrix).empty()) return nullptr;
  return &(adapters->*matrix);
}

}  // namespace

void DeltaLayer::project(LinearInput& input, const LayerWeights& w, const LayerAdapters* adapters,
                         const DeltaShape& shape, Compute compute) {
  const int64_t rows = input.rows();
  const auto room = [&](Buffer<float>& buffer, int64_t width) {
    buffer.resize(static_cast<size_t>(rows * width));
    return buffer.data();
  };
  const bool woven = w.delta_z.data == nullptr, woven_shares = w.delta_a.data == nullptr;
  room(qkv_, shape.channels());
  room(z_, shape.values());
  room(b_, shape.value_heads);
  room(a_, shape.value_heads);
  const auto job = [&](const TensorView& weight, float* y, LowRank LayerAdapters::*matrix) {
    return LinearJob{.weight = weight, .y = y, .low_rank = adapter_of(adapters, matrix)};
  };
  std::vector<LinearJob> jobs;
  jobs.push_back(job(w.delta_in, woven ? room(product_, w.delta_in.rows()) : qkv_.data(),
                     &LayerAdapters::delta_in));
  if (!woven) jobs.push_back(job(w.delta_z, z_.data(), &LayerAdapters::delta_z));
  jobs.push_back(job(w.delta_b, woven_shares ? room(shares_, w.delta_b.rows()) : b_.data(),
                     &LayerAdapters::delta_b));
  if (!woven_shares) jobs.push_back(job(w.delta_a, a_.data(), &LayerAdapters::delta_a));
  linear(input, jobs, compute);
  if (woven) unweave(shape, rows);
  if (woven_shares) unweave_shares(shape, rows);
}

/// Separates the queries, keys, values and gates in the rows of product_, which are interleaved by
/// key heads.
void DeltaLayer::unweave(const DeltaShape& d, int64_t rows) {
  const int64_t values = d.values() / d.key_heads, part = 2 * (d.key_dim + values);
  parallel_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * d.key_heads; i < end * d.key_heads; ++i) {
      const int64_t row = i / d.key_heads, head = i % d.key_heads;
      const float* const from = product_.data() + i * part;
      float* const to = qkv_.data() + row * d.channels();
      std::copy_n(from, d.key_dim, to + head * d.key_dim);
      std::copy_n(from + d.key_dim, d.key_dim, to + d.keys() + head * d.key_dim);
      std::copy_n(from + 2 * d.key_dim, values, to + 2 * d.keys() + head * values);
      std::copy_n(from + 2 * d.key_dim + values, values,
                  z_.data() + row * d.values() + head * values);
    }
  });
}

void DeltaLayer::unweave_shares(const DeltaShape& d, int64_t rows) {
  const int64_t heads = d.value_heads / d.key_heads;
  for (int64_t i = 0; i < rows * d.key_heads; ++i) {
    const float* const from = shares_.data() + i * 2 * heads;
    std::copy_n(from, heads, b_.data() + i * heads);
    std::copy_n(from + heads, heads, a_.data() + i * heads);
  }
}

void DeltaLayer::mix(const LayerWeights& w, const ModelConfig& c, int64_t rows,
                     std::span<const DeltaTask> tasks, View<float> out) {
  const DeltaShape& d = c.delta;
  const DeltaInputs in = {.qkv = {qkv_.data(), rows * d.channels()},
                          .gates = {z_.data(), rows * d.values()},
                          .beta = {b_.data(), rows * d.value_heads},
                          .alpha = {a_.data(), rows * d.value_heads},
                          .convolution = std::span(w.convolution),
                          .dt_bias = std::span(w.dt_bias),
                          .rate = std::span(w.rate),
                          .norm = std::span(w.delta_norm),
                          .eps = c.norm_eps};
  delta_mix(host_queue(), d, in, tasks, out, convolved_);
}

size_t DeltaLayer::row_bytes(const DeltaShape& d) {
  // Once interleaved and once separated.
  const int64_t product = d.channels() + d.values() + 2 * d.value_heads;
  return static_cast<size_t>(2 * product + d.channels()) * sizeof(float);
}

}  // namespace longhaul
