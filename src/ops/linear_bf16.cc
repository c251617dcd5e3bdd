#include "ops/linear_bf16.h"

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/panel_gemm.h"
#include "ops/dequantize.h"
#include "ops/weight_panels.h"

namespace longhaul {
namespace {

/// Outputs of one panel: its expanded weights stay in the second-level cache for all rows of x.
constexpr int64_t kPanelOutputs = 256;
constexpr int64_t kBlock = 32 * 32;

/// Columns of a product that are multiplied before the next are expanded: with kPanelOutputs
/// outputs, 1 MiB of bf16 tiles.
struct Depth {
  int64_t begin, count;  ///< in k tiles
};

/// Expands columns `depth` of weight rows [begin, begin + count), 16 rows at a time, to tiles
/// [outputs / 16, depth.count]; `count` is rounded up to 32 with zeros.
void expand_to_tiles(const PanelGemmKernels& kernels, const TensorView& weight, int64_t begin,
                     int64_t count, Depth depth, bf16_t* tiles) {
  thread_local Buffer<bf16_t> expanded;
  const int64_t first = depth.begin * kTileDepth;
  const int64_t k = std::min(depth.count * kTileDepth, weight.cols() - first);
  const size_t offset = bytes_of(weight.type, first);
  expanded.resize(static_cast<size_t>(kTileSide * k));
  for (int64_t n = 0; n < pad_to_tiles(count, 32); n += kTileSide) {
    const int64_t live = std::clamp<int64_t>(count - n, 0, kTileSide);
    const bf16_t* rows[kTileSide] = {};
    for (int64_t i = 0; i < live; ++i) {
      const std::byte* stored = weight.row(begin + n + i) + offset;
      if (weight.type == DType::BF16) {
        rows[i] = reinterpret_cast<const bf16_t*>(stored);
      } else {
        bf16_t* row = expanded.data() + i * k;
        dequantize_row_bf16(weight.type, stored, k, row);
        rows[i] = row;
      }
    }
    kernels.pack_weights(rows, k, tiles + n / kTileSide * depth.count * kTileElements);
  }
}

/// Products of all rows with `n_blocks` * 32 outputs, in blocks of 32 x 32. expand(depth, tiles)
/// provides the weights; finish(block [32, 32], m, n) takes block (m, n) when its sum is complete.
/// Sums stay in packed blocks: rows of a result may lie a multiple of 4 KiB apart, where the
/// first-level cache holds only a few of them.
template <class Expand, class Finish>
void multiply(const PanelGemmKernels& kernels, LinearInput& x, int64_t n_blocks, Expand&& expand,
              Finish&& finish) {
  thread_local Buffer<bf16_t> tiles;
  thread_local Buffer<float> sums;
  const int64_t k_tiles = count_tiles(x.cols(), kTileDepth), m_blocks = count_tiles(x.rows(), 32);
  const int64_t parts = count_tiles(k_tiles, kDepthTiles);
  const int64_t stride = k_tiles * kTileElements;  // of x, from one row of tiles to the next
  tiles.resize(static_cast<size_t>(2 * n_blocks * std::min(k_tiles, kDepthTiles) * kTileElements));
  sums.resize(static_cast<size_t>(parts == 1 ? n_blocks : m_blocks * n_blocks) * kBlock);
  for (int64_t part = 0; part < parts; ++part) {
    const Depth depth{part * kDepthTiles, std::min(kDepthTiles, k_tiles - part * kDepthTiles)};
    const int64_t depth_stride = depth.count * kTileElements;
    expand(depth, tiles.data());
    kernels.begin();
    for (int64_t m = 0; m < m_blocks; ++m) {
      const bf16_t* a = x.tiles() + 2 * m * stride + depth.begin * kTileElements;
      float* sum = sums.data() + (parts == 1 ? 0 : m * n_blocks * kBlock);
      for (int64_t n = 0; n < n_blocks; ++n, sum += kBlock) {
        kernels.block(static_cast<int>(depth.count), a, stride, tiles.data() + 2 * n * depth_stride,
                      depth_stride, sum, part > 0);
        if (part + 1 == parts) finish(sum, m, n);
      }
    }
    kernels.end();
  }
}

void multiply_panel(const PanelGemmKernels& kernels, LinearInput& x, const WeightPanel& panel) {
  const LinearJob& job = *panel.job;
  const auto expand = [&](Depth depth, bf16_t* tiles) {
    expand_to_tiles(kernels, job.weight, panel.begin, panel.count, depth, tiles);
  };
  const auto write = [&](const float* block, int64_t m, int64_t n) {
    const int64_t at = panel.begin + 32 * n;
    kernels.write(block, static_cast<int>(std::min<int64_t>(32, x.rows() - 32 * m)),
                  static_cast<int>(std::min<int64_t>(32, panel.count - 32 * n)),
                  job.bias == nullptr ? nullptr : job.bias + at, job.add,
                  job.y + 32 * m * stride_of(job) + at, stride_of(job));
  };
  multiply(kernels, x, count_tiles(panel.count, 32), expand, write);
}

/// One panel of gate, with the same outputs of up, to their activations in `inner`.
void activate_panel(const PanelGemmKernels& kernels, LinearInput& x, const WeightPanel& panel,
                    const TensorView& up, bf16_t* inner) {
  const TensorView& gate = panel.job->weight;
  const int64_t inner_tiles = count_tiles(gate.rows(), kTileDepth);
  const int64_t pairs = count_tiles(panel.count, 32);
  const auto expand = [&](Depth depth, bf16_t* tiles) {  // blocks of gate and up take turns
    const int64_t block_tiles = 2 * depth.count * kTileElements;
    for (int64_t n = 0; n < pairs; ++n, tiles += 2 * block_tiles) {
      const int64_t begin = panel.begin + 32 * n;
      const int64_t count = std::min<int64_t>(32, panel.count - 32 * n);
      expand_to_tiles(kernels, gate, begin, count, depth, tiles);
      expand_to_tiles(kernels, up, begin, count, depth, tiles + block_tiles);
    }
  };
  const auto activate = [&](const float* block, int64_t m, int64_t n) {
    if (n % 2 == 0) return;  // its up block comes next
    bf16_t* tile = inner + (2 * m * inner_tiles + panel.begin / 32 + n / 2) * kTileElements;
    kernels.swiglu(block - kBlock, block, tile, inner_tiles * kTileElements);
  };
  multiply(kernels, x, 2 * pairs, expand, activate);
}

}  // namespace

void linear_bf16(LinearInput& x, std::span<const LinearJob> jobs) {
  const PanelGemmKernels& kernels = kPanelGemmKernels_for(current_isa());
  LH_ASSERT(kernels.block != nullptr);
  x.tiles();  // made here, not by the first thread that asks
  const std::vector<WeightPanel> panels = cut_to_panels(jobs, kPanelOutputs);
  parallel_for(static_cast<int64_t>(panels.size()),
               [&](int64_t i, int) { multiply_panel(kernels, x, panels[static_cast<size_t>(i)]); });
}

void swiglu_bf16(LinearInput& x, const TensorView& gate, const TensorView& up, bf16_t* inner) {
  const PanelGemmKernels& kernels = kPanelGemmKernels_for(current_isa());
  LH_ASSERT(kernels.block != nullptr);
  x.tiles();
  const LinearJob gates[] = {{gate}};
  const std::vector<WeightPanel> panels = cut_to_panels(gates, kPanelOutputs / 2);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    activate_panel(kernels, x, panels[static_cast<size_t>(i)], up, inner);
  });
}

int64_t bf16_panel_bytes(int64_t cols) {
  return kPanelOutputs * std::min(cols, kDepthTiles * kTileDepth) * int64_t{sizeof(bf16_t)};
}

}  // namespace longhaul
