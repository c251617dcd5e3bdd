// The GPU's operations of this folder.

#include "ops/blocks/blocks.gpu.h"

#include "ops/blocks/block_rows.h"
#include "ops/blocks/key_vectors.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/operations.gpu.h"

namespace longhaul::cuda {
void implement_blocks(GpuQueue& queue) {
  queue.implement(kStoreVectors,
                  [](GpuQueue& on, View<const float> x, DType type, View<uint8_t> to) {
                    return store_vectors(on.handle(), x.address(), x.size(), type, to.address());
                  });
  queue.implement(kBlockRows, [](GpuQueue& on, int64_t first, View<const int32_t> blocks,
                                 int64_t block, int64_t begin, View<int32_t> rows) {
    block_rows(on.handle(), first, blocks.address(), blocks.size(), block, begin, rows.address());
  });
}

}  // namespace longhaul::cuda
