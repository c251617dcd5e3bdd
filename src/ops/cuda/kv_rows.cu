// Rows enter pages and are read back: append_rows and read_rows of kv.h. A warp takes one row of
// keys or of values.

#include "base/assert.h"
#include "ops/cuda/kv_pages.cuh"
#include "ops/cuda/rotate_pair.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 8;  // of a block

/// The row and whether its values are this warp's.
struct WarpRow {
  int64_t row;
  bool value;
};
__device__ WarpRow warp_row() {
  const int64_t warp = blockIdx.x * static_cast<int64_t>(kWarps) + threadIdx.x / 32;
  return {warp >> 1, (warp & 1) != 0};
}

/// Elements of a new row from t on, rotated if it is a key.
template <int kRun>
__device__ Run<kRun> new_run(const NewRows& a, const float* x, int64_t row, bool rotate, int t) {
  Run<kRun> run = load_run<kRun>(x + t);
  if (!rotate || t >= a.rotary_dim) return run;
  const int half = a.rotary_dim / 2;
  const bool second = t >= half;
  const int64_t angle = row * half + (second ? t - half : t);
  const Run<kRun> other = load_run<kRun>(x + (second ? t - half : t + half));
  const Run<kRun> c = load_run<kRun>(a.cosine + angle), s = load_run<kRun>(a.sine + angle);
  for (int i = 0; i < kRun; ++i) {
    run.v[i] = second ? rotated({other.v[i], run.v[i]}, c.v[i], s.v[i]).second
                      : rotated({run.v[i], other.v[i]}, c.v[i], s.v[i]).first;
  }
  return run;
}

/// Where a warp's new row comes from.
struct Source {
  const float* x;
  bool rotate;
};
__device__ Source source_of(const NewRows& a, const AppendList& list, const WarpRow& at,
                            int head_dim) {
  const float* x = at.value ? a.v + at.row * a.v_stride : a.k + at.row * a.k_stride;
  return {x + list.kv_head * head_dim, !at.value && a.cosine != nullptr};
}

template <class Kv, int kRun>
__global__ void __launch_bounds__(32 * kWarps)
    append_plain(PageShape shape, NewRows a, const AppendList* lists) {
  wait_for_earlier_kernels();
  let_next_kernel_begin();
  const WarpRow at = warp_row();
  if (at.row >= a.rows) return;
  const AppendList list = lists[blockIdx.y];
  const Source source = source_of(a, list, at, shape.head_dim);
  std::byte* to = shape.row(list.pages, list.first + at.row, at.value);
  for (int t = threadIdx.x % 32 * kRun; t < shape.head_dim; t += 32 * kRun) {
    Kv::template store<kRun>(to, t, new_run<kRun>(a, source.x, at.row, source.rotate, t));
  }
}

__global__ void __launch_bounds__(32 * kWarps)
    append_q8_0(PageShape shape, NewRows a, const AppendList* lists) {
  wait_for_earlier_kernels();
  let_next_kernel_begin();
  const WarpRow at = warp_row();
  if (at.row >= a.rows) return;
  const AppendList list = lists[blockIdx.y];
  const Source source = source_of(a, list, at, shape.head_dim);
  std::byte* to = shape.row(list.pages, list.first + at.row, at.value);
  for (int first = 0; first < shape.head_dim; first += 32, to += 34) {
    const int t = first + static_cast<int>(threadIdx.x % 32);
    store_q8_0(to, new_run<1>(a, source.x, at.row, source.rotate, t).v[0]);
  }
}

template <class Kv, int kRun>
__global__ void __launch_bounds__(32 * kWarps)
    read_plain(PageShape shape, const ReadList* lists, int64_t rows) {
  const WarpRow at = warp_row();
  if (at.row >= rows) return;
  const ReadList list = lists[blockIdx.y];
  const int64_t row = list.rows != nullptr ? list.rows[at.row] : list.first + at.row;
  const std::byte* from = shape.row(list.pages, row, at.value);
  float* to = (at.value ? list.v : list.k) + at.row * shape.head_dim;
  for (int t = threadIdx.x % 32 * kRun; t < shape.head_dim; t += 32 * kRun) {
    const Run<kRun> run = Kv::template load<kRun>(from, t);
    for (int i = 0; i < kRun; ++i) to[t + i] = run.v[i];
  }
}

__global__ void __launch_bounds__(32 * kWarps)
    read_q8_0(PageShape shape, const ReadList* lists, int64_t rows) {
  const WarpRow at = warp_row();
  if (at.row >= rows) return;
  const ReadList list = lists[blockIdx.y];
  const int64_t row = list.rows != nullptr ? list.rows[at.row] : list.first + at.row;
  const std::byte* from = shape.row(list.pages, row, at.value);
  float* to = (at.value ? list.v : list.k) + at.row * shape.head_dim;
  for (int t = static_cast<int>(threadIdx.x % 32); t < shape.head_dim; t += 32) {
    to[t] = load_q8_0(from + t / 32 * 34, t % 32);
  }
}

template <class Kv>
void append_as(Stream stream, dim3 grid, bool four, const PageShape& shape, const NewRows& added,
               const AppendList* lists) {
  const auto kernel = four ? append_plain<Kv, 4> : append_plain<Kv, 1>;
  launch_early(stream, "append_rows", kernel, grid, 32 * kWarps, 0, shape, added, lists);
}

template <class Kv>
void read_as(Stream stream, dim3 grid, const PageShape& shape, const ReadList* lists,
             int64_t rows) {
  const auto kernel = shape.head_dim % 4 == 0 ? read_plain<Kv, 4> : read_plain<Kv, 1>;
  kernel<<<grid, 32 * kWarps, 0, stream>>>(shape, lists, rows);
}

dim3 grid_for(int64_t rows, int lists) {
  return dim3(static_cast<unsigned>((2 * rows + kWarps - 1) / kWarps),
              static_cast<unsigned>(lists));
}

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

void check_form(const KvForm& form) {
  LH_ASSERT(form.type == DType::F32 || form.type == DType::F16 || form.type == DType::BF16 ||
            (form.type == DType::Q8_0 && form.head_dim % 32 == 0));
  LH_ASSERT(form.head_dim > 0 && form.page_rows > 0);
}

}  // namespace

void append_rows(Stream stream, const KvForm& form, const NewRows& added, const AppendList* lists,
                 int count) {
  check_form(form);
  LH_ASSERT(added.rotary_dim % 2 == 0 && added.rotary_dim <= form.head_dim && count <= 65535);
  if (added.rows == 0 || count == 0) return;
  const PageShape shape = shape_of(form);
  const dim3 grid = grid_for(added.rows, count);
  const bool four = form.head_dim % 4 == 0 && added.k_stride % 4 == 0 && added.v_stride % 4 == 0 &&
                    added.rotary_dim % 8 == 0 &&
                    aligned_to(16, at(added.k), at(added.v), at(added.cosine), at(added.sine));
  switch (form.type) {
    case DType::F32:
      append_as<KvF32>(stream, grid, four, shape, added, lists);
      break;
    case DType::F16:
      append_as<KvF16>(stream, grid, four, shape, added, lists);
      break;
    case DType::BF16:
      append_as<KvBF16>(stream, grid, four, shape, added, lists);
      break;
    default:
      launch_early(stream, "append_rows", append_q8_0, grid, 32 * kWarps, 0, shape, added, lists);
      break;
  }
}

void read_rows(Stream stream, const KvForm& form, const ReadList* lists, int count, int64_t rows) {
  check_form(form);
  if (rows == 0 || count == 0) return;
  const PageShape shape = shape_of(form);
  const dim3 grid = grid_for(rows, count);
  switch (form.type) {
    case DType::F32:
      read_as<KvF32>(stream, grid, shape, lists, rows);
      break;
    case DType::F16:
      read_as<KvF16>(stream, grid, shape, lists, rows);
      break;
    case DType::BF16:
      read_as<KvBF16>(stream, grid, shape, lists, rows);
      break;
    default:
      read_q8_0<<<grid, 32 * kWarps, 0, stream>>>(shape, lists, rows);
      break;
  }
  check_launch("read_rows");
}

}  // namespace longhaul::cuda
