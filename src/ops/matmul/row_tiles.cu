#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "ops/core/gpu/asked_once.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/matmul/matvec_kernel.cuh"
#include "ops/matmul/row_tiles.cuh"

namespace longhaul::cuda {
namespace {

/// Properties of the current device.
struct TileDevice {
  int processors = 1;
  bool hopper = false;  ///< compute capability 9.0
};
TileDevice device_here() {
  static AskedOnce<int, TileDevice> answers;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return answers.of(device, [&] {
    const auto attribute = [&](cudaDeviceAttr which) {
      int value = 0;
      check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
      return value;
    };
    return TileDevice{attribute(cudaDevAttrMultiProcessorCount),
                      attribute(cudaDevAttrComputeCapabilityMajor) == 9};
  });
}

TileForm tile_form(DType type, int64_t rows) {
  const bool sm90 = rows >= kLeastRowsSm90 && device_here().hopper;
  const auto of_32 = sm90 ? tile_form_of_32_sm90 : tile_form_of_32;
  const auto of_256 = sm90 ? tile_form_of_256_sm90 : tile_form_of_256;
  const TileForm form = of_32(type, rows);
  return form.kernel != nullptr ? form : of_256(type, rows);
}

/// Lets the kernel use the shared memory of its form. Returns false if the device has less.
bool allows_shared_memory(const TileForm& form) {
  static AskedOnce<std::tuple<int, const void*>, bool> answers;
  const auto* const address = reinterpret_cast<const void*>(form.kernel);
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return answers.of({device, address}, [&] {
    if (form.shared > most_shared_memory()) return false;
    const cudaError_t status = cudaFuncSetAttribute(
        address, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(form.shared));
    if (status != cudaSuccess) cudaGetLastError();
    return status == cudaSuccess;
  });
}

}  // namespace

bool multiplies_in_tiles(DType type, int64_t rows) {
  const TileForm form = tile_form(type, rows);
  return form.kernel != nullptr && allows_shared_memory(form);
}

TilePlan tile_plan(const MatvecInput& x, std::span<const MatvecJob> jobs) {
  TilePlan plan;
  for (const MatvecJob& job : jobs) {
    plan.tiles += static_cast<int>((job.weight.rows + kTileOutputs - 1) / kTileOutputs);
  }
  const int64_t chunk_cols = tile_form(jobs.front().weight.type, x.rows).chunk_cols;
  const int chunks = static_cast<int>((x.cols + chunk_cols - 1) / chunk_cols);
  const int wanted =
      std::clamp(device_here().processors / std::max(1, plan.tiles), 1, std::min(8, chunks));
  plan.chunks_per_part = (chunks + wanted - 1) / wanted;
  plan.parts = (chunks + plan.chunks_per_part - 1) / plan.chunks_per_part;
  if (plan.parts == 1) return plan;
  plan.counters = static_cast<size_t>(plan.tiles);
  plan.floats = static_cast<size_t>(plan.parts) * plan.counters * kTileOutputs * 8 *
                static_cast<size_t>(row_groups_of(x.rows));
  return plan;
}

void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    const TilePlan& plan, float* partial, int* counters) {
  LH_ASSERT(x.rows >= 1 && x.rows <= kMostTileRows && x.bf16 && x.x != nullptr);
  LH_ASSERT(!jobs.empty() && jobs.size() <= static_cast<size_t>(kMostMatvecJobs));
  const TileForm form = tile_form(jobs.front().weight.type, x.rows);
  LH_ASSERT(form.kernel != nullptr);
  TileArgs a{};
  int tiles = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const MatvecJob& job = jobs[i];
    LH_ASSERT(job.weight.type == jobs.front().weight.type && job.weight.cols == x.cols);
    tiles += static_cast<int>((job.weight.rows + kTileOutputs - 1) / kTileOutputs);
    a.jobs[i] = {planes_of(job.weight),
                 job.weight.rows,
                 job.y,
                 job.y_stride != 0 ? job.y_stride : job.weight.rows,
                 job.bias,
                 job.add,
                 tiles};
  }
  if (tiles == 0) return;
  a.x = static_cast<const uint16_t*>(x.x);
  a.x_rows = static_cast<int>(x.rows);
  a.cols = static_cast<int>(x.cols);
  a.chunks_per_part = plan.chunks_per_part;
  a.partial = reinterpret_cast<float4*>(partial);
  a.counters = counters;
  LH_ASSERT(allows_shared_memory(form));
  launch_early(stream, "row_tiles", form.kernel,
               dim3(static_cast<unsigned>(plan.tiles), static_cast<unsigned>(plan.parts)),
               kTileThreads, form.shared, a);
}

}  // namespace longhaul::cuda
