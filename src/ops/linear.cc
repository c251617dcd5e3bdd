#include "ops/linear.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/add.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/panel_gemm.h"
#include "ops/dequantize.h"
#include "ops/swiglu.h"

namespace longhaul {
namespace {

/// Outputs of one panel: its expanded weights stay in the second-level cache for all rows of x.
constexpr int64_t kPanelOutputs = 256;
constexpr int64_t kBlock = 32 * 32;
/// Elements of an expanded panel on the f32 path.
constexpr int64_t kF32PanelElements = int64_t{1} << 20;

int64_t tiles_of(int64_t n, int64_t side) { return (n + side - 1) / side; }
int64_t round_up(int64_t n, int64_t to) { return tiles_of(n, to) * to; }
int64_t stride_of(const LinearJob& job) {
  return job.y_stride == 0 ? job.weight.rows() : job.y_stride;
}

/// A stretch of one job's outputs.
struct Panel {
  const LinearJob* job;
  int64_t begin, count;
};

std::vector<Panel> cut(std::span<const LinearJob> jobs, int64_t most_outputs) {
  int64_t outputs = 0;
  for (const LinearJob& job : jobs) outputs += job.weight.rows();
  // Several panels for each thread, so that the last one to finish is not far behind.
  const int64_t share = round_up(outputs / (4 * thread_count()) + 1, 32);
  const int64_t width = std::clamp<int64_t>(share, 32, most_outputs);
  std::vector<Panel> panels;
  for (const LinearJob& job : jobs) {
    for (int64_t n = 0; n < job.weight.rows(); n += width) {
      panels.push_back({&job, n, std::min(width, job.weight.rows() - n)});
    }
  }
  return panels;
}

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
  for (int64_t n = 0; n < round_up(count, 32); n += kTileSide) {
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
  const int64_t k_tiles = tiles_of(x.cols(), kTileDepth), m_blocks = tiles_of(x.rows(), 32);
  const int64_t parts = tiles_of(k_tiles, kDepthTiles);
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

void in_bf16(LinearInput& x, std::span<const LinearJob> jobs) {
  const PanelGemmKernels& kernels = kPanelGemmKernels_for(current_isa());
  x.tiles();  // made here, not by the first thread that asks
  const std::vector<Panel> panels = cut(jobs, kPanelOutputs);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    const Panel& p = panels[static_cast<size_t>(i)];
    const LinearJob& job = *p.job;
    const auto expand = [&](Depth depth, bf16_t* tiles) {
      expand_to_tiles(kernels, job.weight, p.begin, p.count, depth, tiles);
    };
    const auto write = [&](const float* block, int64_t m, int64_t n) {
      const int64_t at = p.begin + 32 * n;
      kernels.write(block, static_cast<int>(std::min<int64_t>(32, x.rows() - 32 * m)),
                    static_cast<int>(std::min<int64_t>(32, p.count - 32 * n)),
                    job.bias == nullptr ? nullptr : job.bias + at, job.add,
                    job.y + 32 * m * stride_of(job) + at, stride_of(job));
    };
    multiply(kernels, x, tiles_of(p.count, 32), expand, write);
  });
}

void in_f32(LinearInput& x, std::span<const LinearJob> jobs) {
  const int64_t cols = x.cols();
  const std::vector<Panel> panels =
      cut(jobs, std::max<int64_t>(64, kF32PanelElements / cols / 64 * 64));
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    const Panel& p = panels[static_cast<size_t>(i)];
    thread_local Buffer<float> expanded;
    expanded.resize(static_cast<size_t>(p.count * cols));
    dequantize_row(p.job->weight.type, p.job->weight.row(p.begin), p.count * cols, expanded.data());
    gemm_f32(x.rows(), p.count, cols, x.f32(), expanded.data(), p.job->y + p.begin,
             stride_of(*p.job));
  });
  for (const LinearJob& job : jobs) {
    if (job.bias == nullptr) continue;
    add_bias(job.y, job.bias, x.rows(), job.weight.rows(), stride_of(job));
  }
}

void few_rows(LinearInput& x, std::span<const LinearJob> jobs) {
  constexpr size_t kMost = 8;
  LH_ASSERT(jobs.size() <= kMost);
  MatvecJob few[kMost];
  for (size_t i = 0; i < jobs.size(); ++i) {
    few[i] = {jobs[i].weight, jobs[i].y, jobs[i].y_stride, jobs[i].bias};
  }
  matvec(std::span<const MatvecJob>(few, jobs.size()), x.few());
}

void run(LinearInput& x, std::span<const LinearJob> jobs, Compute compute) {
  // Reference arithmetic keeps the activations in f32 even for a few rows of quantized weights.
  const bool few = x.rows() <= kMatvecMaxRows && x.f32() != nullptr;
  if (few && (compute == Compute::kBest || !is_block_type(jobs[0].weight.type))) {
    few_rows(x, jobs);
  } else if (multiplies_in_bf16(compute)) {
    in_bf16(x, jobs);
  } else {
    in_f32(x, jobs);
  }
}

/// Only in_bf16 adds as it writes; the others get a buffer to write to.
void run_and_add(LinearInput& x, const LinearJob& job, Compute compute) {
  thread_local Buffer<float> product;
  const int64_t outputs = job.weight.rows(), stride = stride_of(job);
  product.resize(static_cast<size_t>(x.rows() * outputs));
  run(x, {{{job.weight, product.data(), 0, job.bias}}}, compute);
  if (stride == outputs) {
    add(job.y, product.data(), x.rows(), outputs);
    return;
  }
  for (int64_t r = 0; r < x.rows(); ++r) {
    add(job.y + r * stride, product.data() + r * outputs, 1, outputs);
  }
}

}  // namespace

void LinearInput::assign(const float* x, int64_t rows, int64_t cols) {
  f32_ = x;
  has_tiles_ = false;
  rows_ = rows;
  cols_ = cols;
}

void LinearInput::begin_tiles(int64_t rows, int64_t cols) {
  assign(nullptr, rows, cols);
  tiles_.resize(static_cast<size_t>(round_up(rows, 32) * round_up(cols, kTileDepth)));
  has_tiles_ = true;
}

void LinearInput::pack(int64_t row_tile, const float* x, int64_t count) {
  const float* rows[kTileSide] = {};
  for (int64_t i = 0; i < count; ++i) rows[i] = x + i * cols_;
  kPanelGemmKernels_for(current_isa())
      .pack_rows(rows, cols_,
                 tiles_.data() + row_tile * tiles_of(cols_, kTileDepth) * kTileElements);
}

const bf16_t* LinearInput::tiles() {
  if (!has_tiles_) {
    const float* x = f32_;
    begin_tiles(rows_, cols_);
    f32_ = x;
    parallel_ranges(round_up(rows_, 32) / kTileSide, 1, [&](int64_t first, int64_t last) {
      for (int64_t tile = first; tile < last; ++tile) {
        const int64_t begin = tile * kTileSide;
        pack(tile, x + begin * cols_, std::clamp<int64_t>(rows_ - begin, 0, kTileSide));
      }
    });
  }
  return tiles_.data();
}

ActivationRows& LinearInput::few() {
  LH_ASSERT(f32_ != nullptr && rows_ <= kMatvecMaxRows);
  few_.assign(f32_, rows_, cols_);
  return few_;
}

bool multiplies_in_bf16(Compute compute) {
  return compute == Compute::kBest && kPanelGemmKernels_for(current_isa()).block != nullptr;
}

void linear(LinearInput& x, std::span<const LinearJob> jobs, Compute compute) {
  for (const LinearJob& job : jobs) LH_ASSERT(job.weight.cols() == x.cols() && !job.add);
  run(x, jobs, compute);
}

void linear(LinearInput& x, const LinearJob& job, Compute compute) {
  LH_ASSERT(job.weight.cols() == x.cols());
  const bool adds_in_place = multiplies_in_bf16(compute) && x.rows() > kMatvecMaxRows;
  if (job.add && !adds_in_place) {
    run_and_add(x, job, compute);
  } else {
    run(x, {&job, 1}, compute);
  }
}

void linear_swiglu(LinearInput& x, const TensorView& gate, const TensorView& up, LinearInput& inner,
                   Compute compute) {
  const int64_t ffn = gate.rows(), rows = x.rows();
  LH_ASSERT(up.rows() == ffn && gate.cols() == x.cols() && up.cols() == x.cols());
  if (rows <= kMatvecMaxRows || !multiplies_in_bf16(compute)) {
    thread_local Buffer<float> second;
    inner.own_.resize(static_cast<size_t>(rows * ffn));
    second.resize(static_cast<size_t>(rows * ffn));
    const LinearJob jobs[] = {{gate, inner.own_.data()}, {up, second.data()}};
    run(x, jobs, compute);
    swiglu(inner.own_.data(), second.data(), rows, ffn, ffn, inner.own_.data());
    inner.assign(inner.own_.data(), rows, ffn);
    return;
  }
  const PanelGemmKernels& kernels = kPanelGemmKernels_for(current_isa());
  x.tiles();
  inner.begin_tiles(rows, ffn);
  const int64_t inner_tiles = tiles_of(ffn, kTileDepth);
  const LinearJob whole[] = {{gate}};
  const std::vector<Panel> panels = cut(whole, kPanelOutputs / 2);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    const Panel& p = panels[static_cast<size_t>(i)];
    const int64_t pairs = tiles_of(p.count, 32);
    const auto expand = [&](Depth depth, bf16_t* tiles) {  // blocks of gate and up take turns
      const int64_t block_tiles = 2 * depth.count * kTileElements;
      for (int64_t n = 0; n < pairs; ++n, tiles += 2 * block_tiles) {
        const int64_t begin = p.begin + 32 * n, count = std::min<int64_t>(32, p.count - 32 * n);
        expand_to_tiles(kernels, gate, begin, count, depth, tiles);
        expand_to_tiles(kernels, up, begin, count, depth, tiles + block_tiles);
      }
    };
    const auto activate = [&](const float* block, int64_t m, int64_t n) {
      if (n % 2 == 0) return;  // its up block comes next
      bf16_t* tile =
          inner.tiles_.data() + (2 * m * inner_tiles + p.begin / 32 + n / 2) * kTileElements;
      kernels.swiglu(block - kBlock, block, tile, inner_tiles * kTileElements);
    };
    multiply(kernels, x, 2 * pairs, expand, activate);
  });
}

size_t linear_scratch_bytes(int64_t most_cols) {
  const int64_t depth = std::min(most_cols, kDepthTiles * kTileDepth);
  const int64_t panel = std::max(kPanelOutputs * depth * 2, kF32PanelElements * 4);
  return static_cast<size_t>(thread_count() * panel);
}

}  // namespace longhaul
