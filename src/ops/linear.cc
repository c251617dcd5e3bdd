#include "ops/linear.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/add.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/panel_gemm.h"
#include "ops/dequantize.h"

namespace longhaul {
namespace {

/// Outputs of one panel: its expanded weights stay in the second-level cache for all rows of x.
constexpr int64_t kPanelOutputs = 256;
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

/// Expands 16 weight rows at a time into tiles [outputs / 16, k_tiles].
void expand_to_tiles(const PanelGemmKernels& kernels, const Panel& panel, int64_t k_tiles,
                     bf16_t* tiles) {
  thread_local Buffer<bf16_t> expanded;
  const TensorView& weight = panel.job->weight;
  const int64_t k = weight.cols();
  expanded.resize(static_cast<size_t>(kTileSide * k));
  for (int64_t n = 0; n < round_up(panel.count, 32); n += kTileSide) {
    const int64_t live = std::clamp<int64_t>(panel.count - n, 0, kTileSide);
    const bf16_t* rows[kTileSide] = {};
    if (weight.type == DType::BF16) {
      for (int64_t i = 0; i < live; ++i) {
        rows[i] = reinterpret_cast<const bf16_t*>(weight.row(panel.begin + n + i));
      }
    } else if (live > 0) {
      dequantize_row_bf16(weight.type, weight.row(panel.begin + n), live * k, expanded.data());
      for (int64_t i = 0; i < live; ++i) rows[i] = expanded.data() + i * k;
    }
    kernels.pack_weights(rows, k, tiles + n / kTileSide * k_tiles * kTileElements);
  }
}

/// Block (m, n) of y, [32, 32] packed, to its place; adds the bias.
void write_block(const float* block, const Panel& panel, int64_t m, int64_t rows, int64_t n) {
  const LinearJob& job = *panel.job;
  const int64_t outputs = std::min<int64_t>(32, panel.count - n);
  const int64_t stride = stride_of(job);
  float* y = job.y + m * stride + panel.begin + n;
  const float* bias = job.bias == nullptr ? nullptr : job.bias + panel.begin + n;
  for (int64_t r = 0; r < std::min<int64_t>(32, rows - m); ++r) {
    for (int64_t i = 0; i < outputs; ++i) {
      y[r * stride + i] = block[r * 32 + i] + (bias == nullptr ? 0.0f : bias[i]);
    }
  }
}

/// Sums stay in packed blocks until they are complete: rows of y may lie a multiple of 4 KiB apart,
/// where the first-level cache holds only a few of them.
void multiply_panel(const PanelGemmKernels& kernels, const bf16_t* x, int64_t rows,
                    const Panel& panel) {
  thread_local Buffer<bf16_t> tiles;
  thread_local Buffer<float> sums;
  const int64_t k_tiles = tiles_of(panel.job->weight.cols(), kTileDepth);
  const int64_t n_blocks = tiles_of(panel.count, 32), m_blocks = tiles_of(rows, 32);
  tiles.resize(static_cast<size_t>(2 * n_blocks * k_tiles * kTileElements));
  expand_to_tiles(kernels, panel, k_tiles, tiles.data());
  const int64_t k_parts = tiles_of(k_tiles, kDepthTiles);
  sums.resize(static_cast<size_t>(k_parts == 1 ? 1 : m_blocks * n_blocks) * 32 * 32);
  const int64_t stride = k_tiles * kTileElements;  // from one row of tiles to the next
  kernels.begin();
  for (int64_t part = 0; part < k_parts; ++part) {
    const int64_t k = k_tiles * part / k_parts;
    const int depth = static_cast<int>(k_tiles * (part + 1) / k_parts - k);
    for (int64_t m = 0; m < m_blocks; ++m) {
      const bf16_t* a = x + 2 * m * stride + k * kTileElements;
      for (int64_t n = 0; n < n_blocks; ++n) {
        const bf16_t* b = tiles.data() + 2 * n * stride + k * kTileElements;
        float* sum = sums.data() + (k_parts == 1 ? 0 : m * n_blocks + n) * 32 * 32;
        kernels.block(depth, a, stride, b, stride, sum, 32, part > 0);
        if (part + 1 == k_parts) write_block(sum, panel, 32 * m, rows, 32 * n);
      }
    }
  }
  kernels.end();
}

void in_bf16(LinearInput& x, std::span<const LinearJob> jobs) {
  const PanelGemmKernels& kernels = kPanelGemmKernels_for(current_isa());
  const bf16_t* tiles = x.tiles();
  const std::vector<Panel> panels = cut(jobs, kPanelOutputs);
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    multiply_panel(kernels, tiles, x.rows(), panels[static_cast<size_t>(i)]);
  });
}

void in_f32(LinearInput& x, std::span<const LinearJob> jobs) {
  const int64_t cols = x.cols();
  const std::vector<Panel> panels =
      cut(jobs, std::max<int64_t>(64, kF32PanelElements / cols / 64 * 64));
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    const Panel& panel = panels[static_cast<size_t>(i)];
    thread_local Buffer<float> expanded;
    expanded.resize(static_cast<size_t>(panel.count * cols));
    dequantize_row(panel.job->weight.type, panel.job->weight.row(panel.begin), panel.count * cols,
                   expanded.data());
    gemm_f32(x.rows(), panel.count, cols, x.f32(), expanded.data(), panel.job->y + panel.begin,
             stride_of(*panel.job));
  });
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

}  // namespace

void LinearInput::assign(const float* x, int64_t rows, int64_t cols) {
  f32_ = x;
  has_tiles_ = false;
  rows_ = rows;
  cols_ = cols;
}

void LinearInput::begin_columns(int64_t rows, int64_t cols) {
  assign(nullptr, rows, cols);
  tiles_.resize(static_cast<size_t>(round_up(rows, 32) * round_up(cols, kTileDepth)));
  has_tiles_ = true;
}

void LinearInput::set_columns(int64_t begin, int64_t count, const float* x) {
  LH_ASSERT(has_tiles_ && begin % kTileDepth == 0);
  const PanelGemmKernels& kernels = kPanelGemmKernels_for(current_isa());
  const int64_t k_tiles = tiles_of(cols_, kTileDepth);
  parallel_ranges(round_up(rows_, 32) / kTileSide, 1, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const float* rows[kTileSide] = {};
      for (int64_t i = 0; i < kTileSide && t * kTileSide + i < rows_; ++i) {
        rows[i] = x + (t * kTileSide + i) * count;
      }
      kernels.pack_rows(rows, count,
                        tiles_.data() + (t * k_tiles + begin / kTileDepth) * kTileElements);
    }
  });
}

const bf16_t* LinearInput::tiles() {
  if (!has_tiles_) {
    const float* x = f32_;
    begin_columns(rows_, cols_);
    f32_ = x;
    set_columns(0, cols_, x);
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
  for (const LinearJob& job : jobs) LH_ASSERT(job.weight.cols() == x.cols());
  // Reference arithmetic keeps the activations in f32 even for a few rows of quantized weights.
  const bool few = x.rows() <= kMatvecMaxRows && x.f32() != nullptr;
  if (few && (compute == Compute::kBest || !is_block_type(jobs[0].weight.type))) {
    few_rows(x, jobs);
    return;
  }
  if (multiplies_in_bf16(compute)) {
    in_bf16(x, jobs);
    return;
  }
  in_f32(x, jobs);
  for (const LinearJob& job : jobs) {
    if (job.bias != nullptr) {
      add_bias(job.y, job.bias, x.rows(), job.weight.rows(), stride_of(job));
    }
  }
}

void linear(LinearInput& x, const LinearJob& job, Compute compute) {
  linear(x, std::span<const LinearJob>(&job, 1), compute);
}

size_t linear_scratch_bytes(int64_t most_cols) {
  const int64_t panel = std::max(kPanelOutputs * most_cols * 2, kF32PanelElements * 4);
  return static_cast<size_t>(thread_count() * panel);
}

}  // namespace longhaul
