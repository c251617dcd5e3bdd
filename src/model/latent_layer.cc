#include "model/latent_layer.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/attention/latent_keys.h"
#include "ops/core/rms_norm.h"

namespace longhaul {

void LatentLayer::project(LinearInput& input, const LayerWeights& w, const ModelConfig& c,
                          int64_t rows, Compute compute, float* q, float* k) {
  const LatentShape& l = c.latent;
  const int64_t heads = c.heads, query = l.query(), key = l.rank + l.rope;
  queries_.resize(static_cast<size_t>(rows * heads * query));
  latent_.resize(static_cast<size_t>(rows * key));
  const bool low = w.q_down.data != nullptr;
  if (low) low_queries_.resize(static_cast<size_t>(rows * l.query_rank));
  const LinearJob jobs[] = {
      {.weight = w.kv_down, .y = latent_.data()},
      {.weight = low ? w.q_down : w.q, .y = low ? low_queries_.data() : queries_.data()}};
  linear(input, jobs, compute);
  if (low) {
    rms_norm(low_queries_.data(), w.q_down_norm.data(), l.eps, rows, l.query_rank,
             low_queries_.data());
    low_.set_row_kind(input.row_kind());
    low_.assign(low_queries_.data(), rows, l.query_rank);
    linear(low_, LinearJob{.weight = w.q, .y = queries_.data()}, compute);
  }
  latent_keys(host_queue(), {rows, l.rank, l.rope, l.eps}, {latent_.data(), rows * key},
              {w.kv_down_norm.data(), l.rank}, {k, rows * key});
  parallel_ranges(rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t h = 0; h < heads; ++h) {
        std::copy_n(queries_.data() + (r * heads + h) * query + l.plain, l.rope,
                    q + (r * heads + h) * key);
      }
    }
  });
  multiply({queries_.data(), query, l.plain, w.k_up, 0, l.rank, l.rank, q + l.rope, key}, c.heads,
           rows, input.row_kind(), compute);
}

const float* LatentLayer::values(const LayerWeights& w, const ModelConfig& c, int64_t rows,
                                 RowKind kind, Compute compute, const float* mixed) {
  const LatentShape& l = c.latent;
  outputs_.resize(static_cast<size_t>(rows * c.heads * l.value));
  multiply({mixed + l.rope, l.rank + l.rope, l.rank, w.v_up, w.v_first, w.v_stride, l.value,
            outputs_.data(), l.value},
           c.heads, rows, kind, compute);
  return outputs_.data();
}

void LatentLayer::multiply(const OfHeads& job, int heads, int64_t rows, RowKind kind,
                           Compute compute) {
  if (compute != Compute::kF32 && (rows == 1 || kind == RowKind::kDecode)) {
    for (int64_t r = 0; r < rows; ++r) multiply_row(job, heads, r);
    return;
  }
  packed_.resize(static_cast<size_t>(rows * job.inputs));
  product_.resize(static_cast<size_t>(rows * job.outputs));
  of_head_.set_row_kind(kind);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(job.x + (r * heads + h) * job.x_width, job.inputs,
                  packed_.data() + r * job.inputs);
    }
    of_head_.assign(packed_.data(), rows, job.inputs);
    linear(of_head_,
           LinearJob{.weight = job.weight.slice_rows(job.first + h * job.stride, job.outputs),
                     .y = product_.data()},
           compute);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(product_.data() + r * job.outputs, job.outputs,
                  job.y + (r * heads + h) * job.y_width);
    }
  }
}

/// Computes all heads of one row, several heads per call. Each head is multiplied by its own rows
/// of the matrix.
void LatentLayer::multiply_row(const OfHeads& job, int heads, int64_t row) {
  packed_.resize(static_cast<size_t>(kMatvecMaxRows * job.inputs));
  for (int64_t first = 0; first < heads; first += kMatvecMaxRows) {
    const int64_t count = std::min(heads - first, kMatvecMaxRows);
    jobs_.clear();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t head = row * heads + first + i;
      std::copy_n(job.x + head * job.x_width, job.inputs, packed_.data() + i * job.inputs);
      jobs_.push_back(
          {.weight = job.weight.slice_rows(job.first + (first + i) * job.stride, job.outputs),
           .y = job.y + head * job.y_width,
           .only = i});
    }
    activations_.assign(packed_.data(), count, job.inputs);
    matvec(jobs_, activations_);
  }
}

size_t LatentLayer::row_bytes(const ModelConfig& c) {
  const LatentShape& l = c.latent;
  if (!l.used()) return 0;
  const int64_t heads = c.heads;
  // Input rows of multiplications may also be stored in a second format.
  return static_cast<size_t>(heads * (l.query() + 2 * l.value) + 3 * l.query_rank + 2 * l.rank +
                             l.rope + 2 * std::max(l.plain, l.rank) + std::max(l.rank, l.value)) *
         sizeof(float);
}

}  // namespace longhaul
