#pragma once
// The backward pass of the attention over a whole text, on a GPU (ops/grad/attention_backward.h).
// For one chunk of tokens (text_chunks.h) and all heads at a time, cuBLASLt computes the matrix
// products, and kernels compute the steps between them.

#include "ops/grad/gradients.gpu.h"
#include "ops/matmul/products.gpu.h"

namespace longhaul::cuda {

class TextGradients {
 public:
  explicit TextGradients(GpuQueue& queue) : queue_(queue), products_(queue.own<Products>()) {}

  void backward(const TextAttention& shape, const AttentionTrace& trace, float* dq, float* dk,
                float* dv);
  RegionSums regions(const TextAttention& shape, const AttentionTrace& trace,
                     const ProbedRegions& regions);
  /// Adds the gradients with respect to the gates to sums [kv_heads] (ops/attention/gate_mix.h).
  void add_gates(const GatedRows& shape, const float* d_mixed, const float* full, const float* near,
                 float* sums);

 private:
  void pack(const TextAttention& shape, const AttentionTrace& trace);
  GemmCall with_keys(const TextAttention& shape, const PairTile& tile, const uint16_t* rows,
                     const uint16_t* keys) const;
  void multiply(const TextAttention& shape, PairTile& tile);
  void add_tile(const TextAttention& shape, const PairTile& tile, bool first, float* dk, float* dv);

  GpuQueue& queue_;
  Products& products_;
  // The arrays q, d_out, k and v as pack_heads() writes them in bf16, and means in f32.
  Room q_{queue_}, d_out_{queue_}, k_{queue_}, v_{queue_}, means_{queue_};
  Room scores_{queue_}, d_weights_{queue_}, weights_{queue_}, d_scores_{queue_};
  Room dq_{queue_}, sums_{queue_}, of_rows_{queue_};
};

}  // namespace longhaul::cuda
