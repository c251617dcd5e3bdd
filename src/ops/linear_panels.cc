#include "ops/linear_panels.h"

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/parallel.h"
#include "ops/dequantize.h"
#include "ops/weight_panels.h"

namespace longhaul {
namespace {

/// Outputs of one panel: its expanded weights stay in the second-level cache for all rows of x.
constexpr int64_t kPanelOutputs = 256;
/// Columns of a product that are multiplied before the next are expanded: with kPanelOutputs
/// outputs, 1 MiB of bf16 tiles. Whole tiles of every kind, whole blocks of every type.
constexpr int64_t kPartColumns = 2048;
constexpr int64_t kBlock = kBlockSide * kBlockSide;

/// The columns of a part.
struct Depth {
  int64_t begin, count;  ///< in tiles
  int64_t columns;
};

/// Expands columns `depth` of weight rows [begin, begin + count), 16 rows at a time, to tiles
/// [outputs / 16, depth.count]; `count` is rounded up to 32 with zeros.
void expand_to_tiles(const PanelGemmKernels& kernels, const TensorView& weight, int64_t begin,
                     int64_t count, Depth depth, std::byte* tiles) {
  thread_local Buffer<bf16_t> expanded;
  const int64_t k = depth.columns;
  const size_t offset = bytes_of(weight.type, depth.begin * kernels.depth);
  expanded.resize(static_cast<size_t>(kTileSide * k));
  for (int64_t n = 0; n < pad_to_tiles(count, kBlockSide); n += kTileSide) {
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
    kernels.pack_weights(rows, k, tiles + n / kTileSide * depth.count * kernels.w_tile);
  }
}

struct PanelScratch {
  Buffer<std::byte> tiles;
  Buffer<float> sums;
};

PanelScratch& scratch_of_this_thread() {
  thread_local PanelScratch scratch;
  return scratch;
}

/// Products of all rows with `n_blocks` * 32 outputs, in blocks of 32 x 32. expand(depth, tiles)
/// provides the weights; finish(block [32, 32], m, n) takes block (m, n) when its sum is complete;
/// blocks (m, 0) to (m, n) lie one after the other. Sums stay in packed blocks: rows of a result
/// may lie a multiple of 4 KiB apart, where the first-level cache holds only a few of them.
template <class Expand, class Finish>
void multiply(const PanelGemmKernels& kernels, LinearInput& x, int64_t n_blocks, Expand&& expand,
              Finish&& finish) {
  auto& [tiles, sums] = scratch_of_this_thread();
  const int64_t k_tiles = count_tiles(x.cols(), kernels.depth);
  const int64_t m_blocks = count_tiles(x.rows(), kBlockSide);
  const int64_t part_tiles = std::min(k_tiles, kPartColumns / kernels.depth);
  const int64_t parts = count_tiles(k_tiles, part_tiles);
  const int64_t stride = k_tiles * kernels.x_tile;  // from one row of tiles to the next
  const std::byte* const x_tiles = x.tiles(kernels);
  tiles.resize(static_cast<size_t>(2 * n_blocks * part_tiles * kernels.w_tile));
  sums.resize(static_cast<size_t>(parts == 1 ? n_blocks : m_blocks * n_blocks) * kBlock);
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = part * part_tiles;
    const Depth depth{first, std::min(part_tiles, k_tiles - first),
                      std::min(part_tiles * kernels.depth, x.cols() - first * kernels.depth)};
    const int64_t depth_stride = depth.count * kernels.w_tile;
    expand(depth, tiles.data());
    kernels.begin();
    for (int64_t m = 0; m < m_blocks; ++m) {
      const std::byte* a = x_tiles + 2 * m * stride + depth.begin * kernels.x_tile;
      float* sum = sums.data() + (parts == 1 ? 0 : m * n_blocks * kBlock);
      for (int64_t n = 0; n < n_blocks; ++n, sum += kBlock) {
        kernels.block(depth.columns, a, stride, tiles.data() + 2 * n * depth_stride, depth_stride,
                      sum, part > 0);
        if (part + 1 == parts) finish(sum, m, n);
      }
    }
    kernels.end();
  }
}

void multiply_panel(const PanelGemmKernels& kernels, LinearInput& x, const WeightPanel& panel) {
  const LinearJob& job = *panel.job;
  const auto expand = [&](Depth depth, std::byte* tiles) {
    expand_to_tiles(kernels, job.weight, panel.begin, panel.count, depth, tiles);
  };
  const auto write = [&](const float* block, int64_t m, int64_t n) {
    const int64_t row = kBlockSide * m, output = kBlockSide * n;
    const int64_t at = panel.begin + output;
    kernels.write(block, static_cast<int>(std::min<int64_t>(kBlockSide, x.rows() - row)),
                  static_cast<int>(std::min<int64_t>(kBlockSide, panel.count - output)),
                  job.bias == nullptr ? nullptr : job.bias + at, job.add,
                  job.y + row * stride_of(job) + at, stride_of(job));
  };
  multiply(kernels, x, count_tiles(panel.count, kBlockSide), expand, write);
}

/// One panel of gate, with the same outputs of up, to their activations in `inner`. The panel
/// begins at a tile of `inner`.
void activate_panel(const PanelGemmKernels& kernels, LinearInput& x, const WeightPanel& panel,
                    const TensorView& up, std::byte* inner) {
  const TensorView& gate = panel.job->weight;
  const int64_t inner_stride = count_tiles(gate.rows(), kernels.depth) * kernels.x_tile;
  const int64_t pairs = count_tiles(panel.count, kBlockSide);
  const int64_t pairs_per_tile = kernels.depth / kBlockSide;
  const auto expand = [&](Depth depth, std::byte* tiles) {  // blocks of gate and up take turns
    const int64_t block_tiles = 2 * depth.count * kernels.w_tile;
    for (int64_t n = 0; n < pairs; ++n, tiles += 2 * block_tiles) {
      const int64_t begin = panel.begin + kBlockSide * n;
      const int64_t count = std::min<int64_t>(kBlockSide, panel.count - kBlockSide * n);
      expand_to_tiles(kernels, gate, begin, count, depth, tiles);
      expand_to_tiles(kernels, up, begin, count, depth, tiles + block_tiles);
    }
  };
  const auto activate = [&](const float* block, int64_t m, int64_t n) {
    const int64_t done = n / 2 + 1;  // pairs
    if (n % 2 == 0 || (done % pairs_per_tile != 0 && done != pairs)) return;
    const int64_t tile = (done - 1) / pairs_per_tile, count = done - tile * pairs_per_tile;
    const int64_t column = panel.begin / kernels.depth + tile;
    kernels.swiglu(block - (2 * count - 1) * kBlock, static_cast<int>(count),
                   inner + 2 * m * inner_stride + column * kernels.x_tile, inner_stride);
  };
  multiply(kernels, x, 2 * pairs, expand, activate);
}

}  // namespace

void linear_panels(const PanelGemmKernels& kernels, LinearInput& x,
                   std::span<const LinearJob> jobs) {
  x.tiles(kernels);  // made here, not by the first thread that asks
  const std::vector<WeightPanel> panels = cut_to_panels(jobs, kBlockSide, kPanelOutputs);
  parallel_for(static_cast<int64_t>(panels.size()),
               [&](int64_t i, int) { multiply_panel(kernels, x, panels[static_cast<size_t>(i)]); });
}

void swiglu_panels(const PanelGemmKernels& kernels, LinearInput& x, const TensorView& gate,
                   const TensorView& up, std::byte* inner) {
  x.tiles(kernels);
  const LinearJob gates[] = {{gate}};
  const std::vector<WeightPanel> panels = cut_to_panels(gates, kernels.depth, kPanelOutputs / 2);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    activate_panel(kernels, x, panels[static_cast<size_t>(i)], up, inner);
  });
}

int64_t panel_bytes(const PanelGemmKernels& kernels, int64_t rows, int64_t most_cols) {
  const int64_t part =
      std::min(count_tiles(most_cols, kernels.depth), kPartColumns / kernels.depth);
  const int64_t tiles = kPanelOutputs / kTileSide * part * kernels.w_tile;
  const int64_t m_blocks = most_cols <= kPartColumns ? 1 : count_tiles(rows, kBlockSide);
  const int64_t sums = m_blocks * kPanelOutputs / kBlockSide * kBlock * int64_t{sizeof(float)};
  return tiles + sums;
}

}  // namespace longhaul
