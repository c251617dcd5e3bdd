// Writes rows to pages and reads them back: append_rows and read_rows of kv.h. One warp handles one
// row of keys or values.

#include <algorithm>

#include "base/assert.h"
#include "ops/attention/kv_pages.cuh"
#include "ops/attention/rotate_pair.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 8;  // per thread block

/// Lists that one launch appends to. They are 1.5 KB of kernel arguments instead of a copy before
/// the launch.
struct LaunchLists {
  static constexpr int kMost = 64;
  AppendList list[kMost];
  unsigned count;
};

/// A warp's row, and whether the warp handles its values or its keys.
struct WarpRow {
  int64_t row;
  bool value;
};
__device__ WarpRow warp_row() {
  const int64_t warp = blockIdx.x * static_cast<int64_t>(kWarps) + threadIdx.x / 32;
  return {warp >> 1, (warp & 1) != 0};
}

/// Elements from t on of a new row, rotated if it is a key.
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

/// The source of a warp's new row.
struct Source {
  const float* x;
  bool rotate;
};
__device__ Source source_of(const NewRows& a, const AppendList& list, const WarpRow& at,
                            int head_dim) {
  const float* x = at.value ? a.v + at.row * a.v_stride : a.k + at.row * a.k_stride;
  return {x + list.kv_head * head_dim, !at.value && a.cosine != nullptr && !a.raw_keys};
}

/// Rounds a warp's row. A lane handles kRun elements at a time for plain types, one for block
/// types.
template <int kRun>
__device__ __forceinline__ void store_row(const NewRows& a, const Source& from, int64_t row,
                                          PageType type, int head_dim, std::byte* to) {
  const auto plain = [&](auto store) {
    for (int t = threadIdx.x % 32 * kRun; t < head_dim; t += 32 * kRun) {
      store(t, new_run<kRun>(a, from.x, row, from.rotate, t));
    }
  };
  const auto blocks = [&](int bytes, auto store) {
    for (int first = 0; first < head_dim; first += 32, to += bytes) {
      store(
          new_run<1>(a, from.x, row, from.rotate, first + static_cast<int>(threadIdx.x % 32)).v[0]);
    }
  };
  switch (type) {
    case PageType::kF32:
      return plain([&](int t, const auto& x) { store_run(reinterpret_cast<float*>(to) + t, x); });
    case PageType::kF16:
      return plain([&](int t, const auto& x) { store_f16(to, t, x); });
    case PageType::kBF16:
      return plain(
          [&](int t, const auto& x) { store_run(reinterpret_cast<uint16_t*>(to) + t, x); });
    case PageType::kQ8_0:
      return blocks(34, [&](float x) { store_q8_0(to, x); });
    case PageType::kQ4_0:
      return blocks(18, [&](float x) { store_q4_0(to, x); });
    default:
      return blocks(18, [&](float x) { store_q4_0(to, mix_of_warp(x)); });
  }
}

template <int kRun>
__device__ __forceinline__ void rotate_query(const NewRows& a, int64_t row, int head,
                                             int head_dim) {
  if (head >= a.query_heads) return;
  const int64_t at = (row * a.query_heads + head) * head_dim;
  for (int t = threadIdx.x % 32 * kRun; t < head_dim; t += 32 * kRun) {
    store_run(a.rotated_q + at + t, new_run<kRun>(a, a.q + at, row, true, t));
  }
}

/// blockIdx.y: a list, or after the lists a pair of query heads.
template <int kRun>
__global__ void __launch_bounds__(32 * kWarps)
    append_kernel(PageShape shape, NewRows a, const __grid_constant__ LaunchLists lists) {
  const WarpRow at = warp_row();
  await_turn();
  if (at.row >= a.rows) return;
  if (blockIdx.y >= lists.count) {
    const auto head = static_cast<int>(2 * (blockIdx.y - lists.count)) + (at.value ? 1 : 0);
    return rotate_query<kRun>(a, at.row, head, shape.head_dim);
  }
  if (at.value && shape.values_in_keys) return;
  const AppendList list = lists.list[blockIdx.y];
  store_row<kRun>(a, source_of(a, list, at, shape.head_dim), at.row,
                  at.value ? shape.values.type : shape.keys.type, shape.head_dim,
                  shape.row(list.pages, list.first + at.row, at.value));
}

/// New rows of several sequences and their lists. They are 19 KB of kernel arguments, more than the
/// 4 KB that older drivers pass.
struct LaunchSources {
  static constexpr int kMost = 64, kMostLists = 512;
  NewRows source[kMost];
  AppendList list[kMostLists];
  unsigned sources, lists;
  unsigned query_pairs;  ///< pairs of query heads per source
};

/// A pair of warps per list, and after the lists per pair of query heads of a source. blockIdx.y: a
/// row.
template <int kRun>
__global__ void __launch_bounds__(32 * kWarps)
    append_sources_kernel(PageShape shape, const __grid_constant__ LaunchSources all) {
  const WarpRow at{blockIdx.y, (threadIdx.x / 32 & 1) != 0};
  unsigned item = blockIdx.x * (kWarps / 2) + threadIdx.x / 64;
  await_turn();
  if (item < all.lists) {
    const AppendList list = all.list[item];
    const NewRows& a = all.source[list.source];
    if (at.row >= a.rows || (at.value && shape.values_in_keys)) return;
    return store_row<kRun>(a, source_of(a, list, at, shape.head_dim), at.row,
                           at.value ? shape.values.type : shape.keys.type, shape.head_dim,
                           shape.row(list.pages, list.first + at.row, at.value));
  }
  item -= all.lists;
  if (item >= all.sources * all.query_pairs) return;
  const NewRows& a = all.source[item / all.query_pairs];
  const auto head = static_cast<int>(2 * (item % all.query_pairs)) + (at.value ? 1 : 0);
  if (at.row < a.rows && a.rotated_q != nullptr) {
    rotate_query<kRun>(a, at.row, head, shape.head_dim);
  }
}

__global__ void __launch_bounds__(32 * kWarps)
    read_kernel(StoredRows keys, StoredRows values, const ReadList* lists, int64_t rows) {
  const WarpRow at = warp_row();
  if (at.row >= rows) return;
  const ReadList list = lists[blockIdx.y];
  StoredRows side = at.value ? values : keys;
  side.pages = list.pages;
  const std::byte* from = side.row(list.rows != nullptr ? list.rows[at.row] : list.first + at.row);
  float* to = (at.value ? list.v : list.k) + at.row * side.head_dim;
  for (int t = static_cast<int>(threadIdx.x % 32); t < side.head_dim; t += 32) {
    to[t] = side.at(from, t);
  }
}

dim3 grid_for(int64_t rows, int lists) {
  return dim3(static_cast<unsigned>((2 * rows + kWarps - 1) / kWarps),
              static_cast<unsigned>(lists));
}

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

void check_form(const KvForm& form) {
  LH_ASSERT(is_kv_type(form.type.k) && is_kv_type(form.type.v));
  LH_ASSERT(form.head_dim > 0 && form.page_rows > 0 && form.type.holds(form.head_dim));
}

}  // namespace

namespace {

/// Whether lanes can handle four elements at a time.
bool by_fours(const KvForm& form, const NewRows& added) {
  return form.head_dim % 4 == 0 && added.k_stride % 4 == 0 && added.v_stride % 4 == 0 &&
         added.rotary_dim % 8 == 0 &&
         aligned_to(16, at(added.k), at(added.v), at(added.cosine), at(added.sine), at(added.q),
                    at(added.rotated_q));
}

void append_one(Stream stream, const KvForm& form, const NewRows& added,
                std::span<const AppendList> lists) {
  const bool four = by_fours(form, added);
  const auto kernel = four ? append_kernel<4> : append_kernel<1>;
  for (size_t first = 0; first < lists.size(); first += LaunchLists::kMost) {
    const size_t count = std::min<size_t>(lists.size() - first, LaunchLists::kMost);
    LaunchLists some{};
    std::ranges::copy(lists.subspan(first, count), some.list);
    some.count = static_cast<unsigned>(count);
    const bool queries = first == 0 && added.rotated_q != nullptr;
    const int across = static_cast<int>(count) + (queries ? (added.query_heads + 1) / 2 : 0);
    launch_early(stream, "append_rows", kernel, grid_for(added.rows, across), 32 * kWarps, 0,
                 shape_of(form), added, some);
  }
}

/// Appends the rows of the first sources that fit into one launch. Returns their number.
size_t append_some(Stream stream, const KvForm& form, std::span<const NewRows> sources,
                   std::span<const AppendList> lists, int32_t first_source, size_t& used) {
  LaunchSources all{};
  int64_t rows = 0;
  bool four = true;
  while (all.sources < sources.size() && all.sources < LaunchSources::kMost) {
    const NewRows& added = sources[all.sources];
    const auto number = first_source + static_cast<int32_t>(all.sources);
    size_t own = 0;
    while (used + own < lists.size() && lists[used + own].source == number) ++own;
    LH_ASSERT(own > 0 && own <= LaunchSources::kMostLists);
    if (all.lists + own > LaunchSources::kMostLists) break;
    for (size_t i = 0; i < own; ++i) {
      AppendList& to = all.list[all.lists++] = lists[used++];
      to.source = static_cast<int32_t>(all.sources);
    }
    all.source[all.sources++] = added;
    rows = std::max(rows, added.rows);
    four = four && by_fours(form, added);
    if (added.rotated_q == nullptr) continue;
    all.query_pairs = std::max(all.query_pairs, static_cast<unsigned>((added.query_heads + 1) / 2));
  }
  const unsigned items = all.lists + all.sources * all.query_pairs;
  const dim3 grid((items + kWarps / 2 - 1) / (kWarps / 2), static_cast<unsigned>(rows));
  if (rows > 0) {
    launch_early(stream, "append_rows", four ? append_sources_kernel<4> : append_sources_kernel<1>,
                 grid, 32 * kWarps, 0, shape_of(form), all);
  }
  return all.sources;
}

}  // namespace

void append_rows(Stream stream, const KvForm& form, std::span<const NewRows> sources,
                 std::span<const AppendList> lists) {
  check_form(form);
  for (const NewRows& added : sources) {
    LH_ASSERT(added.rotary_dim % 2 == 0 && added.rotary_dim <= form.head_dim);
    LH_ASSERT(added.rotated_q == nullptr || (added.cosine != nullptr && !lists.empty()));
    LH_ASSERT(added.rows <= 65535 || sources.size() == 1);
  }
  if (sources.size() == 1) {
    if (sources.front().rows > 0) append_one(stream, form, sources.front(), lists);
    return;
  }
  size_t used = 0;
  for (size_t done = 0; done < sources.size();) {
    done +=
        append_some(stream, form, sources.subspan(done), lists, static_cast<int32_t>(done), used);
  }
}

void read_rows(Stream stream, const KvForm& form, const ReadList* lists, int count, int64_t rows) {
  check_form(form);
  if (rows == 0 || count == 0) return;
  read_kernel<<<grid_for(rows, count), 32 * kWarps, 0, stream>>>(keys_of(form), values_of(form),
                                                                 lists, rows);
  check_launch("read_rows");
}

}  // namespace longhaul::cuda
