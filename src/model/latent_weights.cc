#include "model/latent_weights.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "format/checkpoint.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

/// Transposes the key matrix of each head: rows [h * stride, h * stride + plain) of `all` [..,
/// rank]. Returns the results as [heads * rank, plain].
TensorView turned_keys(const TensorView& all, const LatentShape& latent, int heads, int stride,
                       std::vector<Buffer<std::byte>>& turned) {
  const bool small = all.type == DType::BF16 || all.type == DType::F16;
  const size_t size = small ? 2 : sizeof(float);
  const int64_t rank = latent.rank, plain = latent.plain;
  Buffer<std::byte> memory;
  memory.resize(static_cast<size_t>(heads * rank * plain) * size);
  parallel_ranges(heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> row(static_cast<size_t>(rank));
    for (int64_t h = begin; h < end; ++h) {
      std::byte* const to = memory.data() + static_cast<size_t>(h * rank * plain) * size;
      for (int64_t i = 0; i < plain; ++i) {
        const std::byte* from = all.row(h * stride + i);
        if (!small) {
          dequantize_row(all.type, from, rank, row.data());
          from = reinterpret_cast<const std::byte*>(row.data());
        }
        for (int64_t r = 0; r < rank; ++r) {
          std::memcpy(to + static_cast<size_t>(r * plain + i) * size,
                      from + static_cast<size_t>(r) * size, size);
        }
      }
    }
  });
  TensorView keys = all;
  keys.type = small ? all.type : DType::F32;
  keys.data = memory.data();
  keys.shape = {heads * rank, plain, 1, 1};
  turned.push_back(std::move(memory));
  return keys;
}

}  // namespace

void load_latent(const Checkpoint& checkpoint, const TensorNames& names, const ModelConfig& c,
                 int layer, TensorFinder& tensors, std::vector<Buffer<std::byte>>& turned,
                 LayerWeights& w) {
  const LatentShape& latent = c.latent;
  const auto name = [&](const char* role) { return of_layer(role, layer) + ".weight"; };
  const int64_t queries = int64_t{c.heads} * latent.query();
  if (latent.query_rank > 0) {
    w.q_down = tensors.matrix(name(names.q_down), latent.query_rank, c.hidden);
    w.q_down_norm = tensors.vector(name(names.q_down_norm), latent.query_rank);
    w.q = tensors.matrix(name(names.q_up), queries, latent.query_rank);
  } else {
    w.q = tensors.matrix(name(names.q), queries, c.hidden);
  }
  w.kv_down = tensors.matrix(name(names.kv_down), latent.rank + latent.rope, c.hidden);
  w.kv_down_norm = tensors.vector(name(names.kv_down_norm), latent.rank);
  w.output = tensors.matrix(name(names.output), c.hidden, int64_t{c.heads} * latent.value);
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    w.k_up = tensors.matrices(name(names.k_up), c.heads, latent.rank, latent.plain);
    w.v_up = tensors.matrices(name(names.v_up), c.heads, latent.value, latent.rank);
    w.v_first = 0, w.v_stride = latent.value;
    return;
  }
  const int both = latent.plain + latent.value;
  w.v_up = tensors.matrix(name(names.kv_up), int64_t{c.heads} * both, latent.rank);
  w.v_first = latent.plain, w.v_stride = both;
  w.k_up = turned_keys(w.v_up, latent, c.heads, both, turned);
}

}  // namespace longhaul
