#include "ops/matmul/linear_panels.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/weight_panels.h"

namespace longhaul {
namespace {

/// Outputs of one panel: its expanded weights stay in the second-level cache for all rows of x.
constexpr int64_t kPanelOutputs = 256;
/// Number of columns that are multiplied before the next ones are expanded. With kPanelOutputs
/// outputs they fill 1 MiB of bf16 tiles. The number is a multiple of the tiles of every kind and
/// of the blocks of every type.
constexpr int64_t kPartColumns = 2048;
constexpr int64_t kPanelBlock = kBlockSide * kBlockSide;
constexpr size_t kMostPanelJobs = 8;  // on one input

/// The columns of one part.
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

/// The adapter's input to one block of 32 outputs: the block's rows of B, and all rows of scale * x
/// A^T.
struct BesideBlock {
  const std::byte* x = nullptr;  ///< tiles; null: no adapter
  int64_t x_stride = 0, rank = 0;
  const std::byte* w = nullptr;
  int64_t w_stride = 0;
};

struct PanelScratch {
  Buffer<std::byte> tiles, beside_tiles;
  Buffer<float> sums;
  std::vector<BesideBlock> beside;
};

PanelScratch& scratch_of_this_thread() {
  thread_local PanelScratch scratch;
  return scratch;
}

/// An adapter in the form that the panels of its matrix read.
struct Beside {
  const LowRank* adapter = nullptr;
  const std::byte* x = nullptr;  ///< tiles of scale * x A^T

  explicit operator bool() const { return adapter != nullptr; }
};

/// The rows of B that belong to one block of 32 outputs.
struct BesideRows {
  Beside beside;
  int64_t begin, count;
};

/// x A^T of one job, as a result and as the input of B.
struct BesideInput {
  Buffer<float> product;  // [rows, rank]
  LinearInput input;
};

/// Stores the adapters of each of `n_blocks` blocks in the thread's scratch. rows_of(n) returns
/// those of block n.
template <class RowsOf>
void expand_beside(const PanelGemmKernels& kernels, int64_t n_blocks, RowsOf&& rows_of) {
  PanelScratch& scratch = scratch_of_this_thread();
  scratch.beside.assign(static_cast<size_t>(n_blocks), {});
  int64_t tiles = 0;
  for (int64_t n = 0; n < n_blocks; ++n) {
    const Beside beside = rows_of(n).beside;
    if (beside) tiles += 2 * count_tiles(beside.adapter->rank(), kernels.depth);
  }
  scratch.beside_tiles.resize(static_cast<size_t>(tiles * kernels.w_tile));
  std::byte* at = scratch.beside_tiles.data();
  for (int64_t n = 0; n < n_blocks; ++n) {
    const auto [beside, begin, count] = rows_of(n);
    if (!beside) continue;
    const int64_t rank = beside.adapter->rank(), depth = count_tiles(rank, kernels.depth);
    expand_to_tiles(kernels, beside.adapter->b, begin, count, {0, depth, rank}, at);
    scratch.beside[static_cast<size_t>(n)] = {beside.x, depth * kernels.x_tile, rank, at,
                                              depth * kernels.w_tile};
    at += 2 * depth * kernels.w_tile;
  }
}

/// Products of all rows with `n_blocks` * 32 outputs, in blocks of 32 x 32. expand(depth, tiles)
/// provides the weights. finish(block [32, 32], m, n) receives block (m, n) when its sum is
/// complete; blocks (m, 0) to (m, n) are adjacent. The thread's scratch names the adapters of the
/// blocks. Sums stay in packed blocks, because rows of a result may be a multiple of 4 KiB apart,
/// and the first-level cache holds only a few such rows.
template <class Expand, class Finish>
void multiply(const PanelGemmKernels& kernels, LinearInput& x, int64_t n_blocks, Expand&& expand,
              Finish&& finish) {
  PanelScratch& scratch = scratch_of_this_thread();
  Buffer<std::byte>& tiles = scratch.tiles;
  Buffer<float>& sums = scratch.sums;
  const int64_t k_tiles = count_tiles(x.cols(), kernels.depth);
  const int64_t m_blocks = count_tiles(x.rows(), kBlockSide);
  const int64_t part_tiles = std::min(k_tiles, kPartColumns / kernels.depth);
  const int64_t parts = count_tiles(k_tiles, part_tiles);
  const int64_t stride = k_tiles * kernels.x_tile;  // from one row of tiles to the next
  const std::byte* const x_tiles = x.tiles(kernels);
  tiles.resize(static_cast<size_t>(2 * n_blocks * part_tiles * kernels.w_tile));
  sums.resize(static_cast<size_t>(parts == 1 ? n_blocks : m_blocks * n_blocks) * kPanelBlock);
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = part * part_tiles;
    const Depth depth{first, std::min(part_tiles, k_tiles - first),
                      std::min(part_tiles * kernels.depth, x.cols() - first * kernels.depth)};
    const int64_t depth_stride = depth.count * kernels.w_tile;
    expand(depth, tiles.data());
    kernels.begin();
    for (int64_t m = 0; m < m_blocks; ++m) {
      const std::byte* a = x_tiles + 2 * m * stride + depth.begin * kernels.x_tile;
      float* sum = sums.data() + (parts == 1 ? 0 : m * n_blocks * kPanelBlock);
      for (int64_t n = 0; n < n_blocks; ++n, sum += kPanelBlock) {
        kernels.block(depth.columns, a, stride, tiles.data() + 2 * n * depth_stride, depth_stride,
                      sum, part > 0);
        if (part + 1 < parts) continue;
        if (const BesideBlock& b = scratch.beside[static_cast<size_t>(n)]; b.x != nullptr) {
          kernels.block(b.rank, b.x + 2 * m * b.x_stride, b.x_stride, b.w, b.w_stride, sum, true);
        }
        finish(sum, m, n);
      }
    }
    kernels.end();
  }
}

void multiply_panel(const PanelGemmKernels& kernels, LinearInput& x, const WeightPanel& panel,
                    const Beside& beside) {
  const LinearJob& job = *panel.job;
  const int64_t blocks = count_tiles(panel.count, kBlockSide);
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
  expand_beside(kernels, blocks, [&](int64_t n) -> BesideRows {
    return {beside, panel.begin + kBlockSide * n,
            std::min<int64_t>(kBlockSide, panel.count - kBlockSide * n)};
  });
  multiply(kernels, x, blocks, expand, write);
}

/// The matrices of one feed-forward part with the products of x and their adapters.
struct Swiglu {
  const SwigluWeights& weights;
  Beside gate, up;
};

void add_bias_to_block(const float* bias, int64_t outputs, float* block) {
  for (int64_t r = 0; r < kBlockSide; ++r, block += kBlockSide) {
    for (int64_t i = 0; i < outputs; ++i) block[i] += bias[i];
  }
}

/// Computes one panel of gate and the same outputs of up, and writes their activations to `inner`.
/// The panel begins at a tile of `inner`.
void activate_panel(const PanelGemmKernels& kernels, LinearInput& x, const WeightPanel& panel,
                    const Swiglu& swiglu, std::byte* inner) {
  const TensorView &gate = swiglu.weights.gate, &up = swiglu.weights.up;
  const int64_t inner_stride = count_tiles(gate.rows(), kernels.depth) * kernels.x_tile;
  const int64_t pairs = count_tiles(panel.count, kBlockSide);
  const int64_t pairs_per_tile = kernels.depth / kBlockSide;
  const auto outputs_of = [&](int64_t pair) {
    return std::min<int64_t>(kBlockSide, panel.count - kBlockSide * pair);
  };
  const auto expand = [&](Depth depth, std::byte* tiles) {  // blocks of gate and up alternate
    const int64_t block_tiles = 2 * depth.count * kernels.w_tile;
    for (int64_t n = 0; n < pairs; ++n, tiles += 2 * block_tiles) {
      const int64_t begin = panel.begin + kBlockSide * n;
      expand_to_tiles(kernels, gate, begin, outputs_of(n), depth, tiles);
      expand_to_tiles(kernels, up, begin, outputs_of(n), depth, tiles + block_tiles);
    }
  };
  const auto activate = [&](float* block, int64_t m, int64_t n) {
    const float* bias = n % 2 == 0 ? swiglu.weights.gate_bias : swiglu.weights.up_bias;
    if (bias != nullptr) {
      add_bias_to_block(bias + panel.begin + kBlockSide * (n / 2), outputs_of(n / 2), block);
    }
    const int64_t done = n / 2 + 1;  // pairs
    if (n % 2 == 0 || (done % pairs_per_tile != 0 && done != pairs)) return;
    const int64_t tile = (done - 1) / pairs_per_tile, count = done - tile * pairs_per_tile;
    const int64_t column = panel.begin / kernels.depth + tile;
    kernels.swiglu(swiglu.weights.gating, block - (2 * count - 1) * kPanelBlock,
                   static_cast<int>(count), inner + 2 * m * inner_stride + column * kernels.x_tile,
                   inner_stride);
  };
  expand_beside(kernels, 2 * pairs, [&](int64_t n) -> BesideRows {
    return {n % 2 == 0 ? swiglu.gate : swiglu.up, panel.begin + kBlockSide * (n / 2),
            outputs_of(n / 2)};
  });
  multiply(kernels, x, 2 * pairs, expand, activate);
}

/// Computes scale * x A^T of every job with an adapter. `inner` holds the results and is as long as
/// `jobs`.
std::vector<Beside> make_beside(const PanelGemmKernels& kernels, LinearInput& x,
                                std::span<const LinearJob> jobs, std::span<BesideInput> inner) {
  std::vector<Beside> beside(jobs.size());
  std::vector<LinearJob> products;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].low_rank == nullptr) continue;
    const LowRank& adapter = *jobs[i].low_rank;
    inner[i].product.resize(static_cast<size_t>(x.rows() * adapter.rank()));
    products.push_back({.weight = adapter.a, .y = inner[i].product.data()});
  }
  if (products.empty()) return beside;
  linear_panels(kernels, x, products);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].low_rank == nullptr) continue;
    const LowRank& adapter = *jobs[i].low_rank;
    float* product = inner[i].product.data();
    parallel_ranges(x.rows(), 64, [&](int64_t begin, int64_t end) {
      for (float* row = product + begin * adapter.rank(); begin < end; ++begin) {
        for (const float scale : adapter.scale) *row++ *= scale;
      }
    });
    inner[i].input.assign(product, x.rows(), adapter.rank());
    beside[i] = {&adapter, inner[i].input.tiles(kernels)};
  }
  return beside;
}

}  // namespace

void linear_panels(const PanelGemmKernels& kernels, LinearInput& x,
                   std::span<const LinearJob> jobs) {
  thread_local std::array<BesideInput, kMostPanelJobs> inner;
  LH_ASSERT(jobs.size() <= kMostPanelJobs);
  x.tiles(kernels);  // computed here, not by the first thread that needs it
  const std::vector<Beside> beside = make_beside(kernels, x, jobs, inner);
  const std::vector<WeightPanel> panels = cut_to_panels(jobs, kBlockSide, kPanelOutputs);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    const WeightPanel& panel = panels[static_cast<size_t>(i)];
    multiply_panel(kernels, x, panel, beside[static_cast<size_t>(panel.job - jobs.data())]);
  });
}

void swiglu_panels(const PanelGemmKernels& kernels, LinearInput& x, const SwigluWeights& weights,
                   std::byte* inner) {
  thread_local std::array<BesideInput, 2> beside_inputs;
  x.tiles(kernels);
  const LinearJob jobs[] = {{.weight = weights.gate, .low_rank = weights.gate_low_rank},
                            {.weight = weights.up, .low_rank = weights.up_low_rank}};
  const std::vector<Beside> beside = make_beside(kernels, x, jobs, beside_inputs);
  const Swiglu swiglu{weights, beside[0], beside[1]};
  const std::vector<WeightPanel> panels =
      cut_to_panels({jobs, 1}, kernels.depth, kPanelOutputs / 2);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    activate_panel(kernels, x, panels[static_cast<size_t>(i)], swiglu, inner);
  });
}

int64_t panel_bytes(const PanelGemmKernels& kernels, int64_t rows, int64_t most_cols) {
  const int64_t part =
      std::min(count_tiles(most_cols, kernels.depth), kPartColumns / kernels.depth);
  const int64_t tiles = kPanelOutputs / kTileSide * part * kernels.w_tile;
  const int64_t m_blocks = most_cols <= kPartColumns ? 1 : count_tiles(rows, kBlockSide);
  const int64_t sums = m_blocks * kPanelOutputs / kBlockSide * kPanelBlock * int64_t{sizeof(float)};
  return tiles + sums;
}

}  // namespace longhaul
