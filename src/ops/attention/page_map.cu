#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include "ops/attention/page_map.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

namespace {

/// Returns false if the driver refuses the map.
bool encode_pages(const PageRange& pages, int head_dim, int box_rows, int rows, uint64_t stride,
                  PageMap& map) {
  static const auto encode = [] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault,
                                           &found),
          "cuTensorMapEncodeTiled");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(f);
  }();
  const cuuint64_t dim = static_cast<cuuint64_t>(head_dim);
  const cuuint64_t size[3] = {dim, static_cast<cuuint64_t>(rows), pages.bytes / stride};
  const cuuint64_t strides[2] = {2 * dim, stride};
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(box_rows), 1}, step[3] = {1, 1, 1};
  map = {{}, pages.base, static_cast<uint32_t>(stride / 256)};
  return encode(&map.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<std::byte*>(pages.base),
                size, strides, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace

PageMap page_map(const PageRange& pages, int head_dim, int box_rows) {
  PageMap map{};
  if (!encode_pages(pages, head_dim, box_rows, 2 * kPageRows, pages.page_bytes, map)) {
    throw DeviceError("CUDA: cuTensorMapEncodeTiled refuses the range of pages");
  }
  return map;
}

PageMap wide_page_map(const PageRange& pages, int head_dim) {
  PageMap map{};
  const bool latent = head_dim != 512;
  if (pages.base == nullptr || pages.bytes >= (uint64_t{1} << 39)) return map;
  if (!encode_pages(pages, head_dim, kPageRows, latent ? kPageRows : 2 * kPageRows, 256, map))
    return {};
  return map;
}

}  // namespace longhaul::cuda
