// Rows enter pages and are read back: append_rows and read_rows of kv.h. A warp takes one row of
// keys or of values.

#include <algorithm>

#include "base/assert.h"
#include "ops/cuda/kv_pages.cuh"
#include "ops/cuda/rotate_pair.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 8;  // of a block

/// Lists that one launch appends to: its parameters, 1.5 KB, instead of a copy before it.
struct LaunchLists {
  static constexpr int kMost = 64;
  AppendList list[kMost];
};

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

/// Rounds a warp's row as plain numbers, kRun elements of a lane at a time.
template <class Kv, int kRun>
struct PlainRow {
  __device__ static void store(const NewRows& a, const Source& from, int64_t row, int head_dim,
                               std::byte* to) {
    for (int t = threadIdx.x % 32 * kRun; t < head_dim; t += 32 * kRun) {
      Kv::template store<kRun>(to, t, new_run<kRun>(a, from.x, row, from.rotate, t));
    }
  }
};

struct Q8Row {
  __device__ static void store(const NewRows& a, const Source& from, int64_t row, int head_dim,
                               std::byte* to) {
    for (int first = 0; first < head_dim; first += 32, to += 34) {
      const int t = first + static_cast<int>(threadIdx.x % 32);
      store_q8_0(to, new_run<1>(a, from.x, row, from.rotate, t).v[0]);
    }
  }
};

template <class Row>
__global__ void __launch_bounds__(32 * kWarps)
    append_kernel(PageShape shape, NewRows a, const __grid_constant__ LaunchLists lists) {
  const WarpRow at = warp_row();
  const AppendList list = lists.list[blockIdx.y];
  wait_for_earlier_kernels();
  let_next_kernel_begin();
  if (at.row >= a.rows) return;
  Row::store(a, source_of(a, list, at, shape.head_dim), at.row, shape.head_dim,
             shape.row(list.pages, list.first + at.row, at.value));
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
auto append_plain(bool four) {
  return four ? append_kernel<PlainRow<Kv, 4>> : append_kernel<PlainRow<Kv, 1>>;
}

auto append_kernel_of(DType type, bool four) {
  switch (type) {
    case DType::F32:
      return append_plain<KvF32>(four);
    case DType::F16:
      return append_plain<KvF16>(four);
    case DType::BF16:
      return append_plain<KvBF16>(four);
    default:
      return append_kernel<Q8Row>;
  }
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

void append_rows(Stream stream, const KvForm& form, const NewRows& added,
                 std::span<const AppendList> lists) {
  check_form(form);
  LH_ASSERT(added.rotary_dim % 2 == 0 && added.rotary_dim <= form.head_dim);
  if (added.rows == 0) return;
  const bool four = form.head_dim % 4 == 0 && added.k_stride % 4 == 0 && added.v_stride % 4 == 0 &&
                    added.rotary_dim % 8 == 0 &&
                    aligned_to(16, at(added.k), at(added.v), at(added.cosine), at(added.sine));
  const auto kernel = append_kernel_of(form.type, four);
  for (size_t first = 0; first < lists.size(); first += LaunchLists::kMost) {
    const size_t count = std::min<size_t>(lists.size() - first, LaunchLists::kMost);
    LaunchLists some{};
    std::ranges::copy(lists.subspan(first, count), some.list);
    launch_early(stream, "append_rows", kernel, grid_for(added.rows, static_cast<int>(count)),
                 32 * kWarps, 0, shape_of(form), added, some);
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
