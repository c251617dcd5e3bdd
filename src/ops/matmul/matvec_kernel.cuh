#pragma once
// The parts of the matvec kernels that do not depend on the weight type. A thread block holds x in
// shared memory, in the format that the weight type requires, and processes batches of weight rows.
// A group of kLanes lanes reads kRows rows in parallel, 16 bytes each at a time. Weights are loaded
// before they are needed, also across the ends of rows. The first loads begin while the previous
// kernel still computes x. If x does not fit into shared memory, all weight rows are processed once
// for each chunk of columns.

#include <cuda_runtime.h>

#include <utility>

#include "ops/core/gated.cuh"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/matmul/matvec.gpu.h"

namespace longhaul::cuda {

struct MatvecArgs {
  struct Job {
    Planes planes;
    int64_t rows;
    size_t row_stride;
    float* y;
    int64_t y_stride;
    const float* bias;
    int add;
    int end;  // number of the first batch that belongs to a later job
  };
  Job jobs[kMostMatvecJobs];
  const void* x;
  int64_t x_stride;
  int x_rows, x_bf16, x_aligned;  // x_aligned: whether four elements can be loaded at once
  Int8Rows int8;                  // x in int8
  int made_at;  // offset in shared memory of a row that the kernel itself converts (made_row.cuh);
                // 0: none
  const float* norm;  // weight of that row's normalisation; null: none
  float eps;
  int cols, chunk_cols;
  int beside;   // whether the previous kernel writes nothing that this kernel reads
  Gated gated;  // for kGated: combines the results of jobs 0 and 1 into y of job 0
  // For kChosen: a thread block processes one choice. The results of consecutive choices begin
  // y_stride floats apart. `rows` of a job is the number of rows of one expert's matrix, although
  // the weight holds the matrices of all experts.
  const ExpertChoice* chosen;
  const int32_t* order;  // block blockIdx.y computes choice order[blockIdx.y], or choice blockIdx.y
                         // if null
  int choices_per_row;   // choices per row of x
};

/// Returns the size in bytes of the shared memory for a row of `cols` elements that the kernel
/// itself converts (made_row.cuh): its elements and, if it is normalised, the weights and one sum
/// per warp.
inline size_t made_row_bytes(int64_t cols, bool with_norm) {
  return static_cast<size_t>(cols + (with_norm ? cols + kMostWarps : 0)) * sizeof(float);
}

enum class MatvecKind : uint8_t {
  kRows,    ///< all rows of x and whole matrices
  kChosen,  ///< each thread block processes the row and the matrix of one choice of an expert
  kGated    ///< one row of x; row i of two matrices is processed together, for each i
};

/// The form of a kernel. It processes kRowsOfX rows of x. If there are fewer rows, the missing ones
/// are zeros. kLanes lanes read each row of weights together.
template <int kM, int kL, MatvecKind kind = MatvecKind::kRows>
struct MatvecForm {
  static constexpr int kRowsOfX = kM, kLanes = kL;
  static constexpr bool kChosen = kind == MatvecKind::kChosen;
  static constexpr bool kGated = kind == MatvecKind::kGated;
  static_assert(kind == MatvecKind::kRows || kRowsOfX == 1);
  /// Whether the kernel can convert a row of x itself (made_row.cuh).
  static constexpr bool kMakesRow = kM == 1 && !kChosen;
  static constexpr int kThreads = 512;
  /// Number of weight rows that a group of lanes reads together.
  static constexpr int kRows = kM == 1 && !kGated ? 1 : 2;
  static constexpr int kLeastBlocks = kM == 1 ? 2 : 1;
  static constexpr int kOutputs = kGated ? 1 : kRows;
  static constexpr int kBatch = kThreads / kLanes * kOutputs;
};

// Kernels bypass the L1 cache (ld.global.cg) when they read data that earlier kernels wrote. A
// kernel that overlaps with earlier kernels could find stale data in the L1 cache.

/// Loads four elements of row m, beginning with column `col`. Elements beyond the last row or
/// column are zeros.
__device__ inline float4 load_x4(const MatvecArgs& a, int m, int col) {
  float4 v = {0, 0, 0, 0};
  if (m >= a.x_rows) return v;
  const int64_t at = m * a.x_stride + col;
  if (a.x_bf16) {
    const auto* x = static_cast<const uint16_t*>(a.x) + at;
    if (a.x_aligned && col + 4 <= a.cols) {
      const uint2 w = __ldcg(reinterpret_cast<const uint2*>(x));
      return {bf16_value(w.x & 0xffffu), float_of(w.x & 0xffff0000u), bf16_value(w.y & 0xffffu),
              float_of(w.y & 0xffff0000u)};
    }
    if (col < a.cols) v.x = bf16_value(__ldcg(x));
    if (col + 1 < a.cols) v.y = bf16_value(__ldcg(x + 1));
    if (col + 2 < a.cols) v.z = bf16_value(__ldcg(x + 2));
    if (col + 3 < a.cols) v.w = bf16_value(__ldcg(x + 3));
    return v;
  }
  const float* x = static_cast<const float*>(a.x) + at;
  if (a.x_aligned && col + 4 <= a.cols) return __ldcg(reinterpret_cast<const float4*>(x));
  if (col < a.cols) v.x = __ldcg(x);
  if (col + 1 < a.cols) v.y = __ldcg(x + 1);
  if (col + 2 < a.cols) v.z = __ldcg(x + 2);
  if (col + 3 < a.cols) v.w = __ldcg(x + 3);
  return v;
}

__device__ __forceinline__ int choice_of_block(const MatvecArgs& a) {
  return a.order == nullptr ? static_cast<int>(blockIdx.y) : __ldcg(a.order + blockIdx.y);
}

template <class Form>
__device__ __forceinline__ int first_row_of_x(const MatvecArgs& a) {
  return Form::kChosen ? choice_of_block(a) / a.choices_per_row : 0;
}

template <class Form>
__device__ __forceinline__ float sum_of_lanes(float sum) {
#pragma unroll
  for (int distance = Form::kLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(~0u, sum, distance);
  }
  return sum;
}

/// Adds up the partial sums of the lanes that read a weight row. One lane writes the result plus
/// the bias to y. If `more` is true (a chunk of columns after the first one), it adds the result to
/// y instead. `above` is the number of weight rows that precede the expert's matrix, and `choice`
/// is the number of the choice. Both are 0 unless the form is kChosen.
template <class Form>
__device__ __forceinline__ void write_sums(const MatvecArgs::Job& job, int64_t first_row,
                                           int64_t above, int choice, int x_rows, bool more,
                                           float (&sums)[Form::kRows][Form::kRowsOfX]) {
#pragma unroll
  for (int r = 0; r < Form::kRows; ++r) {
#pragma unroll
    for (int m = 0; m < Form::kRowsOfX; ++m) {
      float sum = sum_of_lanes<Form>(sums[r][m]);
      const int64_t row = first_row + r;
      if (threadIdx.x % Form::kLanes == m && m < x_rows && row < job.rows) {
        float* y = job.y + (Form::kChosen ? choice : m) * job.y_stride + row;
        if (job.bias != nullptr && !more) sum += job.bias[above + row];
        *y = job.add || more ? __ldcg(y) + sum : sum;
      }
      sums[r][m] = 0;
    }
  }
}

/// Like write_sums(), for the form kGated.
template <class Form>
__device__ __forceinline__ void write_gated(const MatvecArgs& a, int64_t row,
                                            float (&sums)[Form::kRows][Form::kRowsOfX]) {
  const float gate = sum_of_lanes<Form>(sums[0][0]), up = sum_of_lanes<Form>(sums[1][0]);
  if (threadIdx.x % Form::kLanes == 0 && row < a.jobs[0].rows) {
    a.jobs[0].y[row] = a.gated(gate, up);
  }
  sums[0][0] = sums[1][0] = 0;
}

/// Iterates over the batches of weight rows of a thread block, for one chunk of columns. Each group
/// of lanes has its own object. Product must define Unit (16 bytes of weights and the data that
/// belongs to them), kAhead (the number of units that are loaded before they are needed), Row (the
/// start of a weight row), and the functions row_of(), load() and add().
template <class Form, class Product>
class RowWalk {
 public:
  __device__ RowWalk(const MatvecArgs& args, int batches) : a(args), batches_(batches) {
    if constexpr (Form::kChosen) {
      choice_ = choice_of_block(a);
      expert_ = __ldcg(&a.chosen[choice_].expert);
    }
  }

  /// Starts the loads of the first kAhead units of a chunk of columns. The chunk has `cols`
  /// columns, beginning with column `first`.
  __device__ void begin(int first, int cols) {
    first_ = first;
    units_ = Product::units(cols);
    ahead_.batch = done_.batch = blockIdx.x;
    ahead_.job = done_.job = ahead_.job_begin = done_.job_begin = 0;
    ahead_.unit = done_.unit = 0;
    find_job(done_);
    find_rows();
#pragma unroll
    for (int i = 0; i < Product::kAhead; ++i) load(loaded_[i]);
  }

  /// Processes all batches. begin() must have been called, and x must be in shared memory.
  __device__ void finish(const Product& product) {
    Sums sums = {};
    while (add_ahead(product, sums, std::make_integer_sequence<int, Product::kAhead>())) {
    }
  }

 private:
  using Sums = float[Form::kRows][Form::kRowsOfX];

  /// Processes kAhead units. Each loaded unit has its own registers, so the loop over units must be
  /// unrolled. The compiler would not unroll such a large loop, so it is written with an index
  /// sequence.
  template <int... I>
  __device__ __forceinline__ bool add_ahead(const Product& product, Sums& sums,
                                            std::integer_sequence<int, I...>) {
    return (add_one(product, loaded_[I], sums) && ...);
  }
  /// Adds the products of the loaded units to the sums, and loads the next units in their place.
  /// Returns false after the last unit.
  __device__ __forceinline__ bool add_one(const Product& product,
                                          typename Product::Unit (&loaded)[Form::kRows],
                                          Sums& sums) {
    const int unit = done_.unit + lane();
    if (unit < units_) product.add(loaded, unit, sums);
    load(loaded);
    done_.unit += Form::kLanes;
    if (done_.unit < units_) return true;
    if constexpr (Form::kGated) {
      write_gated<Form>(a, row_of(done_), sums);
    } else {
      const MatvecArgs::Job& job = a.jobs[done_.job];
      write_sums<Form>(job, row_of(done_), above(job), choice_, a.x_rows, first_ > 0, sums);
    }
    done_.unit = 0;
    done_.batch += gridDim.x;
    if (done_.batch >= batches_) return false;
    find_job(done_);
    return true;
  }

  struct Place {
    int batch, unit;  // unit of the group's first lane
    int job, job_begin;
  };

  __device__ static int lane() { return threadIdx.x % Form::kLanes; }
  __device__ void find_job(Place& at) const {
    while (at.batch >= a.jobs[at.job].end) at.job_begin = a.jobs[at.job++].end;
  }
  __device__ int64_t row_of(const Place& at) const {
    const int group = threadIdx.x / Form::kLanes;
    return static_cast<int64_t>(at.batch - at.job_begin) * Form::kBatch + group * Form::kOutputs;
  }
  __device__ int64_t above(const MatvecArgs::Job& job) const {
    return Form::kChosen ? expert_ * job.rows : 0;
  }
  /// Returns the job of row r (of kRows) among the weight rows that are being loaded.
  __device__ __forceinline__ const MatvecArgs::Job& job_of(int r) const {
    return a.jobs[Form::kGated ? r : ahead_.job];
  }
  __device__ void find_rows() {
    find_job(ahead_);
    const int64_t row = row_of(ahead_);
#pragma unroll
    for (int r = 0; r < Form::kRows; ++r) {
      const MatvecArgs::Job& job = job_of(r);
      const int64_t own = min(row + (Form::kGated ? 0 : r), job.rows - 1);
      rows_[r] = Product::row_of(a, job, above(job) + own, first_);
    }
  }
  __device__ __forceinline__ void load(typename Product::Unit (&to)[Form::kRows]) {
    if (ahead_.batch >= batches_) return;
    const int unit = ahead_.unit + lane();
    if (unit < units_) {
#pragma unroll
      for (int r = 0; r < Form::kRows; ++r) {
        to[r] = Product::load(job_of(r).planes, rows_[r], unit);
      }
    }
    ahead_.unit += Form::kLanes;
    if (ahead_.unit < units_) return;
    ahead_.unit = 0;
    ahead_.batch += gridDim.x;
    if (ahead_.batch < batches_) find_rows();
  }

  const MatvecArgs& a;
  int batches_, first_, units_;
  int choice_ = 0, expert_ = 0;
  Place ahead_, done_;
  typename Product::Row rows_[Form::kRows];  // weight rows that are being loaded
  typename Product::Unit loaded_[Product::kAhead][Form::kRows];
};

/// Computes the part of y that belongs to this thread block. A matvec kernel consists of a call of
/// this function. product.begin(args) starts loads of data that earlier kernels do not write.
/// product.stage(args, first column, columns) stores x in shared memory.
template <class Form, class Product>
__device__ __forceinline__ void walk_rows(const MatvecArgs& a, int batches,
                                          const Product& product) {
  // An earlier kernel writes the choices.
  if (Form::kChosen && !a.beside) wait_for_earlier_kernels();
  RowWalk<Form, Product> walk(a, batches);
  for (int first = 0; first < a.cols; first += a.chunk_cols) {
    const int cols = min(a.chunk_cols, a.cols - first);
    walk.begin(first, cols);
    if (first > 0) {
      __syncthreads();
    } else {
      product.begin(a);
      if (!Form::kChosen && !a.beside) wait_for_earlier_kernels();
      let_next_kernel_begin();
    }
    product.stage(a, first, cols);
    __syncthreads();
    walk.finish(product);
  }
  if (a.beside) wait_for_earlier_kernels();
}

/// Returns how many thread blocks with `shared` bytes of shared memory each the device can run at
/// the same time. If `shared` exceeds 48 KiB, first allows the kernel to use so much. The result is
/// cached.
int resident_blocks(const void* kernel, int threads, size_t shared);

/// Returns the size in bytes of the shared memory that a thread block may use on the current
/// device.
size_t most_shared_memory();

using MatvecKernel = void (*)(MatvecArgs args, int batches);

struct MatvecLaunch {
  MatvecKernel kernel;
  int threads, batch;    // batch: number of weight rows that a thread block processes at a time
  size_t bytes_per_256;  // bytes of shared memory per 256 columns
  size_t bytes_beside;   // bytes of shared memory that do not depend on the columns
};

/// The requested form of a kernel: the number of rows of x, and the number of lanes per weight row
/// (32, or 8 if there is one row of x).
struct MatvecWanted {
  MatvecKind kind = MatvecKind::kRows;
  int64_t rows = 1;
  int lanes = 32;
};

/// Calls f with the MatvecForm that matches the request.
template <class Function>
auto with_form(const MatvecWanted& wanted, Function&& f) {
  if (wanted.kind == MatvecKind::kChosen) return f(MatvecForm<1, 32, MatvecKind::kChosen>());
  if (wanted.kind == MatvecKind::kGated) return f(MatvecForm<1, 32, MatvecKind::kGated>());
  if (wanted.lanes == 8) return f(MatvecForm<1, 8>());
  if (wanted.rows == 1) return f(MatvecForm<1, 32>());
  return wanted.rows <= 4 ? f(MatvecForm<4, 32>()) : f(MatvecForm<8, 32>());
}

/// Each function returns the kernel for a weight type. The functions for block types each cover one
/// list of block_units.h. They return no kernel for types that are not in their list.
MatvecLaunch plain_matvec(DType type, const MatvecWanted& wanted);
MatvecLaunch matvec_of_32(DType type, const MatvecWanted& wanted);
MatvecLaunch matvec_of_256(DType type, const MatvecWanted& wanted);
MatvecLaunch matvec_of_books(DType type, const MatvecWanted& wanted);

}  // namespace longhaul::cuda
