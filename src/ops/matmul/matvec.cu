#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "ops/core/gpu/asked_once.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/matmul/matvec.gpu.h"
#include "ops/matmul/matvec_kernel.cuh"

namespace longhaul::cuda {
namespace {

constexpr size_t kAlwaysAllowed = 48 * 1024;  // shared memory that needs no attribute

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

/// Number of lanes per weight row. With many short rows, eight lanes share a row, so that few lanes
/// are idle. With few rows, all 32 lanes are needed.
int lanes_for(const MatrixView& w, int64_t x_rows) {
  return x_rows == 1 && w.row_stride < 2048 && w.rows >= 16384 ? 8 : 32;
}

MatvecLaunch launch_for(DType type, const MatvecWanted& wanted) {
  if (!is_block_type(type)) return plain_matvec(type, wanted);
  for (const auto& find : {matvec_of_32, matvec_of_256}) {
    const MatvecLaunch launch = find(type, wanted);
    if (launch.kernel != nullptr) return launch;
  }
  return matvec_of_books(type, wanted);
}

/// Data that all launches of a call share.
struct Call {
  const MatvecInput& x;
  MatvecKind kind = MatvecKind::kRows;
  const MatvecChoices* choices = nullptr;  ///< for kChosen
  Gating gating{};                         ///< for kGated
};

void fill_x(const MatvecInput& x, MatvecArgs& a) {
  a.x = x.x;
  a.x_stride = x.stride != 0 ? x.stride : x.cols;
  a.x_rows = static_cast<int>(x.rows);
  a.x_bf16 = x.bf16;
  const size_t four = x.bf16 ? 8 : 16;
  a.x_aligned = aligned_to(four, reinterpret_cast<uintptr_t>(x.x)) && a.x_stride % 4 == 0;
  a.int8 = x.int8;
  a.norm = x.norm;
  a.eps = x.eps;
  a.cols = static_cast<int>(x.cols);
}

/// Adds the jobs, all of one type. Returns their number of batches of `batch` rows. A gated pair
/// counts as one job.
int fill_jobs(std::span<const MatvecJob* const> jobs, const Call& call, int batch, MatvecArgs& a) {
  int64_t batches = 0;
  MatvecArgs::Job* to = a.jobs;
  for (const MatvecJob* job : jobs) {
    to->planes = planes_of(job->weight);
    to->rows = job->weight.rows / (call.choices != nullptr ? call.choices->experts : 1);
    to->row_stride = job->weight.row_stride;
    to->y = job->y;
    to->y_stride = job->y_stride != 0 ? job->y_stride : to->rows;
    to->bias = job->bias;
    to->add = job->add;
    if (call.kind != MatvecKind::kGated || to == a.jobs) batches += (to->rows + batch - 1) / batch;
    to++->end = static_cast<int>(batches);
  }
  return static_cast<int>(batches);
}

/// All shared memory of a launch, and the columns of x that it holds at a time.
struct SharedRoom {
  size_t bytes;
  int cols;
};
SharedRoom room_of(const MatvecLaunch& form, DType type, const MatvecInput& x, MatvecArgs& a) {
  const size_t pieces = (static_cast<size_t>(x.cols) + 255) / 256;  // pieces of 256 columns
  const size_t fitting = (most_shared_memory() - form.bytes_beside) / form.bytes_per_256;
  const size_t some = std::max<size_t>(1, std::min(pieces, fitting));
  SharedRoom room{some * form.bytes_per_256 + form.bytes_beside, static_cast<int>(some * 256)};
  // Plain types read f32 values directly.
  if (x.made && (is_block_type(type) || x.norm != nullptr)) {
    LH_ASSERT(some == pieces && makes_row(x.rows, x.cols, x.x, x.norm));
    a.made_at = static_cast<int>(room.bytes);
    room.bytes += made_row_bytes(x.cols, x.norm != nullptr);
  }
  return room;
}

/// Launches jobs of one type. `beside`: the previous launch was for other jobs of the call. Returns
/// false and does nothing if the type has no gated form or x does not fit at once.
bool launch(Stream stream, const Call& call, std::span<const MatvecJob* const> jobs, bool beside) {
  const MatvecInput& x = call.x;
  const MatrixView& first = jobs[0]->weight;
  LH_ASSERT(is_block_type(first.type) && !x.made ? x.int8.q != nullptr : x.x != nullptr);
  LH_ASSERT(!x.made || (!x.bf16 && call.kind != MatvecKind::kChosen));
  const bool rows = call.kind == MatvecKind::kRows;
  const MatvecLaunch form =
      launch_for(first.type, {call.kind, x.rows, rows ? lanes_for(first, x.rows) : 32});
  if (form.kernel == nullptr) return false;  // gated pairs only
  MatvecArgs a{};
  fill_x(x, a);
  a.beside = beside;
  a.gated = Gated::of(call.gating);
  const SharedRoom room = room_of(form, first.type, x, a);
  if (call.kind == MatvecKind::kGated && room.cols < x.cols) return false;
  a.chunk_cols = room.cols;
  int64_t count = 1;
  if (call.choices != nullptr) {
    a.chosen = call.choices->chosen;
    a.order = call.choices->order;
    a.choices_per_row = static_cast<int>(call.choices->per_row);
    count = call.choices->count;
  }
  const int batches = fill_jobs(jobs, call, form.batch, a);
  const int resident =
      resident_blocks(reinterpret_cast<const void*>(form.kernel), form.threads, room.bytes);
  // Uses as many thread blocks as have equally many batches, in the fewest possible rounds.
  const int64_t most = std::clamp<int64_t>(resident / count, 1, batches);
  const int64_t rounds = (batches + most - 1) / most, across = (batches + rounds - 1) / rounds;
  launch_early(stream, "matvec", form.kernel,
               dim3(static_cast<unsigned>(across), static_cast<unsigned>(count)), form.threads,
               room.bytes, a, batches);
  return true;
}

/// Launches the jobs, once per type.
void launch_all(Stream stream, const Call& call, std::span<const MatvecJob> jobs) {
  LH_ASSERT(jobs.size() <= static_cast<size_t>(kMostMatvecJobs));
  const MatvecJob* left[kMostMatvecJobs] = {};
  size_t count = 0;
  for (const MatvecJob& job : jobs) {
    LH_ASSERT(job.weight.cols == call.x.cols && call.x.cols > 0);
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
    launch(stream, call, {same, taken}, beside);
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
    // Requests the maximum: a smaller number would revoke what another call was granted.
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

bool makes_row(int64_t rows, int64_t cols, const void* x, const void* norm) {
  // Shared memory holds the values and as many factors of the norm. It also holds the converted
  // form, 24 bytes per 16 elements for block types, or 4 bytes per element for plain types with a
  // norm. The largest code book is added.
  constexpr size_t kBook = 8192, kOfSystem = 1024;
  const size_t bytes = static_cast<size_t>(cols) * (norm != nullptr ? 24 : 11) / 2 + kBook;
  static AskedOnce<int, int> answers;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const auto shared = static_cast<size_t>(
      answers.of(device, [] { return attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor); }));
  return rows == 1 && cols % 32 == 0 && 2 * (bytes + kOfSystem) <= shared &&
         aligned_to(16, reinterpret_cast<uintptr_t>(x), reinterpret_cast<uintptr_t>(norm));
}

void matvec(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs) {
  LH_ASSERT(x.rows >= 1 && x.rows <= kMostMatvecRows);
  launch_all(stream, {x}, jobs);
}

bool gated_matvec(Stream stream, const MatvecInput& x, const GatedMatvec& job) {
  const MatrixView &gate = job.gate, &up = job.up;
  LH_ASSERT(x.rows == 1 && gate.cols == x.cols && gate.rows > 0);
  if (gate.type != up.type || gate.rows != up.rows || gate.cols != up.cols) return false;
  const MatvecJob both[] = {{.weight = gate, .y = job.y}, {.weight = up}};
  const MatvecJob* const jobs[] = {&both[0], &both[1]};
  return launch(stream, {.x = x, .kind = MatvecKind::kGated, .gating = job.gating}, jobs, false);
}

void matvec_chosen(Stream stream, const MatvecInput& x, const MatvecChoices& choices,
                   std::span<const MatvecJob> jobs) {
  LH_ASSERT(choices.count >= 1 && choices.count <= 65535 && choices.experts > 0);
  LH_ASSERT(choices.count <= choices.per_row * x.rows);
  launch_all(stream, {.x = x, .kind = MatvecKind::kChosen, .choices = &choices}, jobs);
}

}  // namespace longhaul::cuda
