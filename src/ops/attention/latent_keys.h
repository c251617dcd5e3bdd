#pragma once
// Computes the stored keys of multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section
// 2.1). A stored key consists of the elements to which RoPE applies, followed by the normalised
// latent vector.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

struct LatentKeys {
  int64_t rows = 0;
  int rank = 0, rope = 0;
  float eps = 0;  ///< epsilon of the root-mean-square norm
};

/// Computes keys [rows, rope + rank] without applying RoPE. `products` [rows, rank + rope] is the
/// layer's input multiplied by the latent projection matrix. The first `rank` elements of each row
/// are the latent vector, which is normalised with `weight` [rank].
void latent_keys(Queue& queue, const LatentKeys& shape, View<const float> products,
                 View<const float> weight, View<float> keys);
inline const DeviceOperation<bool(const LatentKeys&, View<const float>, View<const float>,
                                  View<float>)>
    kLatentKeys;

}  // namespace longhaul
