#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include "ops/attention/page_map.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

PageMap page_map(const PageRange& pages, int head_dim, int box_rows) {
  static const auto encode = [] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault,
                                           &found),
          "cuTensorMapEncodeTiled");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(f);
  }();
  const cuuint64_t dim = static_cast<cuuint64_t>(head_dim);
  const cuuint64_t size[3] = {dim, 2 * kPageRows, pages.bytes / pages.page_bytes};
  const cuuint64_t stride[2] = {2 * dim, pages.page_bytes};
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(box_rows), 1}, step[3] = {1, 1, 1};
  PageMap map{{}, pages.base, static_cast<uint32_t>(pages.page_bytes / 256)};
  if (encode(&map.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<std::byte*>(pages.base),
             size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    throw DeviceError("CUDA: cuTensorMapEncodeTiled refuses the range of pages");
  }
  return map;
}

}  // namespace longhaul::cuda
