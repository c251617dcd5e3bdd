#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "ops/core/gpu/asked_once.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/matmul/matvec_kernel.cuh"
#include "ops/matmul/row_tiles.cuh"

namespace longhaul::cuda {
namespace {

TileKernel tile_kernel(DType type, int64_t rows) {
  const TileKernel kernel = tile_kernel_of_32(type, rows);
  return kernel != nullptr ? kernel : tile_kernel_of_256(type, rows);
}

size_t tile_bytes(int64_t rows) {
  const int groups = row_groups_of(rows);
  return groups == 2 ? tile_bytes_of<2>() : groups == 4 ? tile_bytes_of<4>() : tile_bytes_of<8>();
}

/// Lets the kernel use so much shared memory. Returns false if the device has less.
bool allows_shared_memory(TileKernel kernel, size_t bytes) {
  static AskedOnce<std::tuple<int, const void*>, bool> answers;
  const auto* const address = reinterpret_cast<const void*>(kernel);
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return answers.of({device, address}, [&] {
    if (bytes > most_shared_memory()) return false;
    const cudaError_t status = cudaFuncSetAttribute(
        address, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (status != cudaSuccess) cudaGetLastError();
    return status == cudaSuccess;
  });
}

/// Division of a call among thread blocks. It does not depend on the number of rows.
struct TileGrid {
  int tiles = 0, parts = 0, chunks_per_part = 0;
};

TileGrid grid_of(const MatvecInput& x, std::span<const MatvecJob> jobs) {
  int device = 0, processors = 1;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  TileGrid grid;
  for (const MatvecJob& job : jobs) {
    grid.tiles += static_cast<int>((job.weight.rows + kTileOutputs - 1) / kTileOutputs);
  }
  const int chunks = static_cast<int>((x.cols + kTileCols - 1) / kTileCols);
  const int wanted = std::clamp(2 * processors / std::max(1, grid.tiles), 1, chunks);
  grid.chunks_per_part = (chunks + wanted - 1) / wanted;
  grid.parts = (chunks + grid.chunks_per_part - 1) / grid.chunks_per_part;
  return grid;
}

}  // namespace

bool multiplies_in_tiles(DType type, int64_t rows) {
  const TileKernel kernel = tile_kernel(type, rows);
  return kernel != nullptr && allows_shared_memory(kernel, tile_bytes(rows));
}

TileRoom tile_room(const MatvecInput& x, std::span<const MatvecJob> jobs) {
  const TileGrid grid = grid_of(x, jobs);
  if (grid.parts == 1) return {};
  const auto tiles = static_cast<size_t>(grid.tiles);
  return {static_cast<size_t>(grid.parts) * tiles * kTileOutputs * 8 *
              static_cast<size_t>(row_groups_of(x.rows)),
          tiles};
}

void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    float* partial, int* counters) {
  LH_ASSERT(x.rows >= 1 && x.rows <= kMostTileRows && x.int8.q != nullptr);
  LH_ASSERT(!jobs.empty() && jobs.size() <= static_cast<size_t>(kMostMatvecJobs));
  const TileKernel kernel = tile_kernel(jobs.front().weight.type, x.rows);
  LH_ASSERT(kernel != nullptr);
  const TileGrid grid = grid_of(x, jobs);
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
  a.x = x.int8;
  a.x_rows = static_cast<int>(x.rows);
  a.cols = static_cast<int>(x.cols);
  a.chunks_per_part = grid.chunks_per_part;
  a.partial = reinterpret_cast<float4*>(partial);
  a.counters = counters;
  const size_t shared = tile_bytes(x.rows);
  LH_ASSERT(allows_shared_memory(kernel, shared));
  launch_early(stream, "row_tiles", kernel,
               dim3(static_cast<unsigned>(grid.tiles), static_cast<unsigned>(grid.parts)), 256,
               shared, a);
}

}  // namespace longhaul::cuda
