#include "ops/matmul/matvec.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/core/isa/isa.h"
#include "ops/matmul/matvec_kernels.h"

namespace longhaul {
namespace {

constexpr size_t kMinChunkBytes = 8 * 1024;    // about half a microsecond of one core's bandwidth
constexpr size_t kMaxChunkBytes = 256 * 1024;  // stays in L2 when x has several rows
constexpr size_t kChunksPerThread = 12;        // compensates for an interrupted core

const MatvecTable& kernels() {
#ifndef LH_GENERIC_ONLY
  if (current_isa() >= Isa::kAvx512) return avx512::kMatvec;
  if (current_isa() == Isa::kAvx2) return avx2::kMatvec;
#endif
  return generic::kMatvec;
}

int64_t chunk_rows(const MatvecJob& job, size_t chunk_bytes) {
  const auto rows = static_cast<int64_t>(chunk_bytes / std::max<size_t>(1, job.weight.row_bytes()));
  return std::max<int64_t>(1, rows / 4) * 4;  // kernels may process four at a time
}

int64_t chunks_of(const MatvecJob& job, size_t chunk_bytes) {
  const int64_t rows = chunk_rows(job, chunk_bytes);
  return (job.weight.rows() + rows - 1) / rows;
}

void run_rows(const MatvecTable& table, const MatvecJob& job, const ActivationRows& x,
              int64_t begin, int64_t end) {
  const bool factored = reads_factored(job.weight.type);
  MatvecRows a{};
  a.weight = reinterpret_cast<const uint8_t*>(job.weight.row(begin));
  a.row_bytes = job.weight.row_bytes();
  a.rows = end - begin;
  a.cols = x.cols();
  const int64_t first = std::max<int64_t>(job.only, 0);
  a.x_rows = job.only < 0 ? x.rows() : 1;
  a.x = x.f32(first);
  a.groups = factored ? nullptr : x.groups(first);
  a.factored = factored ? x.factored(first) : nullptr;
  a.groups_per_row = x.groups_per_row();
  a.y = job.y + begin;
  a.y_stride = job.y_stride != 0 ? job.y_stride : job.weight.rows();
  a.bias = job.bias != nullptr ? job.bias + begin : nullptr;
  table.run[static_cast<size_t>(job.weight.type)](a);
}

}  // namespace

void ActivationRows::assign(const float* x, int64_t rows, int64_t cols) {
  LH_ASSERT(rows >= 1 && cols >= 0);
  x_ = x;
  rows_ = rows;
  cols_ = cols;
  quantized_ = is_factored_ = false;
}

void ActivationRows::quantize() {
  if (quantized_) return;
  groups_.resize(static_cast<size_t>(rows_ * groups_per_row()));
  for (int64_t r = 0; r < rows_; ++r) {
    kernels().quantize(f32(r), cols_, groups_.data() + r * groups_per_row());
  }
  quantized_ = true;
}

void ActivationRows::factor() {
  if (is_factored_) return;
  LH_ASSERT(cols_ % 256 == 0);
  factored_.resize(static_cast<size_t>(rows_ * groups_per_row()));
  for (int64_t r = 0; r < rows_; ++r) {
    kernels().factor(f32(r), groups_per_row(), factored_.data() + r * groups_per_row());
  }
  is_factored_ = true;
}

bool reads_factored(DType type) {
  switch (type) {
    case DType::Q2_K:
    case DType::Q3_K:
    case DType::Q4_K:
    case DType::Q5_K:
    case DType::Q6_K:
      return kernels().factor != nullptr;
    default:
      return false;
  }
}

void matvec(std::span<const MatvecJob> jobs, ActivationRows& x) {
  size_t bytes = 0;
  for (const MatvecJob& job : jobs) {
    LH_ASSERT(job.weight.cols() == x.cols() && job.only < x.rows());
    if (reads_factored(job.weight.type)) {
      x.factor();
    } else if (is_block_type(job.weight.type)) {
      x.quantize();
    }
    bytes += job.weight.bytes();
  }
  const size_t share = bytes / (static_cast<size_t>(thread_count()) * kChunksPerThread);
  const size_t chunk_bytes = std::clamp(share, kMinChunkBytes, kMaxChunkBytes);
  int64_t chunks = 0;
  for (const MatvecJob& job : jobs) chunks += chunks_of(job, chunk_bytes);
  const MatvecTable& table = kernels();
  parallel_runs(chunks, [&](int64_t chunk) {
    const MatvecJob* job = jobs.data();
    for (int64_t count; chunk >= (count = chunks_of(*job, chunk_bytes)); ++job) chunk -= count;
    const int64_t rows = chunk_rows(*job, chunk_bytes);
    run_rows(table, *job, x, chunk * rows, std::min((chunk + 1) * rows, job->weight.rows()));
  });
}

void matvec(const TensorView& weight, ActivationRows& x, float* y) {
  const MatvecJob job{.weight = weight, .y = y};
  matvec(std::span(&job, 1), x);
}

}  // namespace longhaul
