#pragma once
// Computes the keys of multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1) in
// the form in which they are stored: first the part that is rotated, then the normalised latent
// vector.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

struct LatentKeys {
  int64_t rows = 0;
  int rank = 0, rope = 0;
  float eps = 0;  ///< epsilon of the root-mean-square norm
};

/// Computes keys [rows, rope + rank], which are not rotated yet. `products` [rows, rank + rope] are
/// the products of the rows and the latent matrix. `weight` [rank] is the weight of the norm.
void latent_keys(Queue& queue, const LatentKeys& shape, View<const float> products,
                 View<const float> weight, View<float> keys);
inline const DeviceOperation<bool(const LatentKeys&, View<const float>, View<const float>,
                                  View<float>)>
    kLatentKeys;

}  // namespace longhaul
