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

/// Division of a call among thread blocks. It does not depend on the number of rows.
struct TileGrid {
  int tiles = 0, parts = 0, chunks_per_part = 0;
};

TileGrid grid_of(const MatvecInput& x, std::span<const MatvecJob> jobs, int chunk_cols) {
  const int processors = device_here().processors;
  TileGrid grid;
  for (const MatvecJob& job : jobs) {
    grid.tiles += static_cast<int>((job.weight.rows + kTileOutputs - 1) / kTileOutputs);
  }
  const int chunks = static_cast<int>((x.cols + chunk_cols - 1) / chunk_cols);
  const int wanted = std::clamp(processors / std::max(1, grid.tiles), 1, std::min(8, chunks));
  grid.chunks_per_part = (chunks + wanted - 1) / wanted;
  grid.parts = (chunks + grid.chunks_per_part - 1) / grid.chunks_per_part;
  return grid;
}

}  // namespace

bool multiplies_in_tiles(DType type, int64_t rows) {
  const TileForm form = tile_form(type, rows);
  return form.kernel != nullptr && allows_shared_memory(form);
}

TileRoom tile_room(const MatvecInput& x, std::span<const MatvecJob> jobs) {
  const TileGrid grid = grid_of(x, jobs, tile_form(jobs.front().weight.type, x.rows).chunk_cols);
  if (grid.parts == 1) return {};
  const auto tiles = static_cast<size_t>(grid.tiles);
  return {static_cast<size_t>(grid.parts) * tiles * kTileOutputs * 8 *
              static_cast<size_t>(row_groups_of(x.rows)),
          tiles};
}

void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    float* partial, int* counters) {
  LH_ASSERT(x.rows >= 1 && x.rows <= kMostTileRows && x.bf16 && x.x != nullptr);
  LH_ASSERT(!jobs.empty() && jobs.size() <= static_cast<size_t>(kMostMatvecJobs));
  const TileForm form = tile_form(jobs.front().weight.type, x.rows);
  LH_ASSERT(form.kernel != nullptr);
  const TileGrid grid = grid_of(x, jobs, form.chunk_cols);
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
  a.chunks_per_part = grid.chunks_per_part;
  a.partial = reinterpret_cast<float4*>(partial);
  a.counters = counters;
  LH_ASSERT(allows_shared_memory(form));
  launch_early(stream, "row_tiles", form.kernel,
               dim3(static_cast<unsigned>(grid.tiles), static_cast<unsigned>(grid.parts)),
               kTileThreads, form.shared, a);
}

}  // namespace longhaul::cuda
