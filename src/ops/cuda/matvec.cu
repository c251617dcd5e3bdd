#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "ops/cuda/asked_once.h"
#include "ops/cuda/device_error.h"
#include "ops/cuda/matvec.h"
#include "ops/cuda/matvec_kernel.cuh"

namespace longhaul::cuda {
namespace {

constexpr size_t kAlwaysAllowed = 48 * 1024;  // shared memory that needs no attribute

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

/// Eight lanes share each of many short rows, so that few lanes have nothing to read. Few rows need
/// all lanes there are.
int lanes_for(const MatrixView& w, int64_t x_rows) {
  return x_rows == 1 && w.row_stride < 2048 && w.rows >= 16384 ? 8 : 32;
}

MatvecLaunch launch_for(DType type, int64_t rows, int lanes) {
  if (!is_block_type(type)) return plain_matvec(type, rows, lanes);
  for (const auto& find : {matvec_of_32, matvec_of_256}) {
    const MatvecLaunch launch = find(type, rows, lanes);
    if (launch.kernel != nullptr) return launch;
  }
  return matvec_of_books(type, rows, lanes);
}

void fill_x(const MatvecInput& x, MatvecArgs& a) {
  a.x = x.x;
  a.x_stride = x.stride != 0 ? x.stride : x.cols;
  a.x_rows = static_cast<int>(x.rows);
  a.x_bf16 = x.bf16;
  const size_t four = x.bf16 ? 8 : 16;
  a.x_aligned = aligned_to(four, reinterpret_cast<uintptr_t>(x.x)) && a.x_stride % 4 == 0;
  a.int8 = x.int8;
  a.cols = static_cast<int>(x.cols);
}

/// Null: all rows of x with whole weights.
using Choices = const MatvecChoices*;

/// The jobs, of one type. Returns their batches of `batch` rows.
int fill_jobs(std::span<const MatvecJob* const> jobs, Choices choices, int batch, MatvecArgs& a) {
  int64_t batches = 0;
  MatvecArgs::Job* to = a.jobs;
  for (const MatvecJob* job : jobs) {
    to->planes = planes_of(job->weight);
    to->rows = job->weight.rows / (choices != nullptr ? choices->experts : 1);
    to->row_stride = job->weight.row_stride;
    to->y = job->y;
    to->y_stride = job->y_stride != 0 ? job->y_stride : to->rows;
    to->bias = job->bias;
    to->add = job->add;
    batches += (to->rows + batch - 1) / batch;
    to++->end = static_cast<int>(batches);
  }
  return static_cast<int>(batches);
}

/// One launch for jobs of one type. `beside`: the launch before it was of other jobs of the call.
void launch(Stream stream, const MatvecInput& x, Choices choices,
            std::span<const MatvecJob* const> jobs, bool beside) {
  const MatrixView& first = jobs[0]->weight;
  LH_ASSERT(is_block_type(first.type) ? x.int8.q != nullptr : x.x != nullptr);
  const MatvecLaunch form = choices != nullptr
                                ? launch_for(first.type, kChosenRow, 32)
                                : launch_for(first.type, x.rows, lanes_for(first, x.rows));
  MatvecArgs a{};
  fill_x(x, a);
  a.beside = beside;
  if (choices != nullptr) {
    a.chosen = choices->chosen;
    a.order = choices->order;
    a.choices_per_row = static_cast<int>(choices->per_row);
  }
  const int batches = fill_jobs(jobs, choices, form.batch, a);
  const size_t pieces = (static_cast<size_t>(x.cols) + 255) / 256;  // of 256 columns
  const size_t fitting = (most_shared_memory() - form.bytes_beside) / form.bytes_per_256;
  const size_t chunk = std::max<size_t>(1, std::min(pieces, fitting));
  a.chunk_cols = static_cast<int>(chunk * 256);
  const size_t shared = chunk * form.bytes_per_256 + form.bytes_beside;
  const int resident =
      resident_blocks(reinterpret_cast<const void*>(form.kernel), form.threads, shared);
  const int64_t count = choices != nullptr ? choices->count : 1;
  const int64_t across = std::clamp<int64_t>(resident / count, 1, batches);
  launch_early(stream, "matvec", form.kernel,
               dim3(static_cast<unsigned>(across), static_cast<unsigned>(count)), form.threads,
               shared, a, batches);
}

/// A launch for each type among the jobs.
void launch_all(Stream stream, const MatvecInput& x, Choices choices,
                std::span<const MatvecJob> jobs) {
  LH_ASSERT(jobs.size() <= static_cast<size_t>(kMostMatvecJobs));
  const MatvecJob* left[kMostMatvecJobs] = {};
  size_t count = 0;
  for (const MatvecJob& job : jobs) {
    LH_ASSERT(job.weight.cols == x.cols && x.cols > 0);
    if (job.weight.rows > 0) left[count++] = &job;
  }
  for (bool beside = false; count > 0; beside = true) {
    const MatvecJob* same[kMostMatvecJobs];
    const DType type = left[0]->weight.type;
    size_t taken = 0, kept = 0;
    for (size_t i = 0; i < count; ++i) {
      if (left[i]->weight.type == type) {
        same[taken++] = left[i];
      } else {
        left[kept++] = left[i];
      }
    }
    launch(stream, x, choices, {same, taken}, beside);
    count = kept;
  }
}

}  // namespace

size_t most_shared_memory() {
  return static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

int resident_blocks(const void* kernel, int threads, size_t shared) {
  static AskedOnce<std::tuple<int, const void*, size_t>, int> answers;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return answers.of({device, kernel, shared}, [&] {
    // The most that is ever asked for: a smaller number would take back what another call was
    // given.
    if (shared > kAlwaysAllowed) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(most_shared_memory())),
            "shared memory of matvec");
    }
    int per_processor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, shared),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return std::max(1, per_processor) * attribute(cudaDevAttrMultiProcessorCount);
  });
}

void matvec(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs) {
  LH_ASSERT(x.rows >= 1 && x.rows <= kMostMatvecRows);
  launch_all(stream, x, nullptr, jobs);
}

void matvec_chosen(Stream stream, const MatvecInput& x, const MatvecChoices& choices,
                   std::span<const MatvecJob> jobs) {
  LH_ASSERT(choices.count >= 1 && choices.count <= 65535 && choices.experts > 0);
  LH_ASSERT(choices.count <= choices.per_row * x.rows);
  launch_all(stream, x, &choices, jobs);
}

}  // namespace longhaul::cuda
