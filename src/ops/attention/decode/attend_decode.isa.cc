// Decode attention. It is memory-bound, so every key and value is read once, directly from its
// page, for all rows that share it. Keys and values in bf16 and in block formats are multiplied as
// bf16 if the level supports it (decode_bf16.h); other arithmetic is f32.

#include "ops/attention/attend_kernels.h"
#include "ops/attention/decode/decode_bf16.h"
#include "ops/attention/decode/decode_rows.h"
#include "ops/attention/flat_rows.h"
#include "ops/core/isa/prefetch.h"

namespace longhaul::LH_ISA {
namespace {

constexpr int kGroup = DecodeBf16::kKeys;  // keys per softmax update

inline int padded_dim(const HostCall& call) { return round_up(call.head_dim, 16); }

struct Scratch {
  float* queries;  // [rows, dim] in the current form, times scale * log2(e)
  float* weights;  // [rows, kGroup]
  float* out;      // [rows, dim]
  float* fetched;  // [keys, values][kGroup, dim], for rows that need conversion
  DecodeBf16::Scratch bf16_scratch;

  Scratch(ScratchLayout& layout, int padded_dim) : bf16_scratch(layout, padded_dim) {
    const size_t dim = static_cast<size_t>(padded_dim);
    layout.take(queries, kDecodeRows * dim);
    layout.take(weights, kDecodeRows * kGroup);
    layout.take(out, kDecodeRows * dim);
    layout.take(fetched, 2 * kGroup * dim);
  }
};

/// Addresses of the rows of a group. They are set before they are read; the zeros are for the
/// static analyzer.
struct Group {
  const std::byte* key[kGroup] = {};
  const std::byte* value[kGroup] = {};
};

struct Decode : Scratch {
  const AttendUnit& unit;
  const HostCall& call;
  const FlatRows flat;
  int dim;   // head_dim rounded up to 16
  int rows;  // number of flat rows
  Group groups[2];
  Group* now = &groups[0];
  Group* next = &groups[1];            // the following group, prefetched meanwhile
  int key_bytes = 0, value_bytes = 0;  // bytes per stored row
  DecodeBf16* bf16 = nullptr;          // null: f32
  float max[kDecodeRows], sum[kDecodeRows];

  Decode(const AttendUnit& u, ScratchLayout layout)
      : Scratch(layout, padded_dim(*u.call)),
        unit(u),
        call(*u.call),
        flat(u),
        dim(padded_dim(call)),
        rows(flat.count) {
    std::memset(out, 0, sizeof(float) * static_cast<size_t>(rows * dim));
    if (dim != call.head_dim)
      std::memset(fetched, 0, sizeof(float) * static_cast<size_t>(2 * kGroup * dim));
    for (int m = 0; m < rows; ++m) {
      // counted once over all parts
      const bool sink = call.sinks != nullptr && unit.key_begin == 0;
      max[m] = sink ? call.sinks[flat.head(m)] * kLog2e : kLowest;
      sum[m] = sink ? 1.0f : 0.0f;
    }
  }
};

/// Computes scores of `count` keys for M rows in weights[m, key].
template <DType T, int M>
void score_keys(Decode& f, int count) {
  for (int g = 0; g < count; g += kLanes) {
    Vec partial[M][kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const int at = g + i < count ? g + i : g;
      const std::byte* row = f.now->key[at];
      // The hardware does not prefetch these rows, because they are short and scattered over pages.
      prefetch_bytes(f.now->value[at], f.value_bytes);
      prefetch_bytes(f.next->key[at], f.key_bytes);
      Vec acc[M] = {};
      for (int t = 0; t < f.dim; t += kStretch<T>) {
        for (int j = 0; j < kStretch<T> / kLanes; ++j) {
          const Vec k = load_of_stretch<T>(row, t, j);
          const float* q = f.queries + t + j * kLanes;
          for (int m = 0; m < M; ++m) acc[m] = fma(k, load(q + m * f.dim), acc[m]);
        }
      }
      for (int m = 0; m < M; ++m) partial[m][i] = acc[m];
    }
    for (int m = 0; m < M; ++m) store(f.weights + m * kGroup + g, reduce_lanes<Add>(partial[m]));
  }
}

/// out[m] += sum over keys of weights[m, key] * value[key], for elements [t, t + N * kLanes). The N
/// * M sums are enough to hide the latency of an addition.
template <DType T, int M, int N>
void add_values_at(Decode& f, int count, int t) {
  Vec acc[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) acc[m][n] = load(f.out + m * f.dim + t + n * kLanes);
  }
  constexpr bool kOneStretch = N * kLanes == kStretch<T>;
  for (int i = 0; i < count; ++i) {
    Vec v[N];
    for (int n = 0; n < N; ++n) {
      v[n] = kOneStretch ? load_of_stretch<T>(f.now->value[i], t, n)
                         : load_stored<T>(f.now->value[i], t + n * kLanes);
    }
    for (int m = 0; m < M; ++m) {
      const Vec w = splat(f.weights[m * kGroup + i]);
      for (int n = 0; n < N; ++n) acc[m][n] = fma(w, v[n], acc[m][n]);
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) store(f.out + m * f.dim + t + n * kLanes, acc[m][n]);
  }
}

template <DType T, int M>
void add_values(Decode& f, int count) {
  constexpr int kAtOnce = M <= 2 ? 4 : M <= 6 ? 2 : 1;
  int t = 0;
  for (; t + kAtOnce * kLanes <= f.dim; t += kAtOnce * kLanes) {
    add_values_at<T, M, kAtOnce>(f, count, t);
  }
  for (; t < f.dim; t += kLanes) add_values_at<T, M, 1>(f, count, t);
}

template <DType T, int M>
struct ScoreKeys {
  static void run(Decode& f, int count) { score_keys<T, M>(f, count); }
};
template <DType T, int M>
struct AddValues {
  static void run(Decode& f, int count) { add_values<T, M>(f, count); }
};

/// `mixed` is set for keys that are stored Hadamard-rotated and read as they are.
void load_queries(Decode& f, int form, bool mixed) {
  f.flat.load_queries(f.call.queries[static_cast<size_t>(form)], 0, f.rows, f.dim, f.queries);
  if (mixed) mix_blocks(f.queries, int64_t{f.rows} * f.dim);
  if (f.bf16 != nullptr) f.bf16->load_queries(f.queries);
}

void scale_row(Decode& f, int m, float factor) {
  if (f.bf16 != nullptr) return f.bf16->scale_row(m, factor);
  float* out = f.out + m * f.dim;
  for (int t = 0; t < f.dim; t += kLanes) store(out + t, load(out + t) * splat(factor));
}

/// Accumulates scores of keys [lo, hi) into row m's running softmax, and leaves weights for
/// add_values.
void softmax_row(Decode& f, int m, int lo, int hi, int count) {
  float* w = f.weights + m * kGroup;
  const int padded = f.bf16 != nullptr ? kGroup : round_up(count, kLanes);
  if (f.call.cap > 0) cap_scores(f.call.cap, padded, w);
  for (int i = 0; i < lo; ++i) w[i] = kLowest;
  for (int i = hi; i < padded; ++i) w[i] = kLowest;
  Vec top = load(w);
  for (int i = kLanes; i < padded; i += kLanes) top = max(top, load(w + i));
  const float block_max = reduce_max(top);
  if (block_max > f.max[m]) {
    const float shrink = first_lane(exp2_precise(splat(f.max[m] - block_max)));
    f.max[m] = block_max;
    f.sum[m] *= shrink;
    scale_row(f, m, shrink);
  }
  Vec sum = {};
  for (int i = 0; i < padded; i += kLanes) {
    const Vec weight = exp2_precise(load(w + i) - splat(f.max[m]));
    store(w + i, weight);
    sum += weight;
  }
  f.sum[m] += reduce_add(sum);
}

/// The formats in which products read the rows of a segment.
struct Reading {
  const KeySegment& segment;
  StoredRows keys, values;
  DType key_type, value_type;  // as read by the products
  int key_stride;              // bytes per key row as read by the products

  Reading(const Decode& f, const KeySegment& s)
      : segment(s), keys(keys_of(s.rows)), values(values_of(s.rows)) {
    const bool whole = f.call.head_dim % 16 == 0;
    const DType rotated = f.bf16 == nullptr ? DType::F32 : DType::BF16;
    value_type = whole ? values.type : DType::F32;
    key_type = s.rotate ? rotated : whole ? keys.type : DType::F32;
    key_stride = s.rotate && f.bf16 != nullptr ? 2 * f.dim : keys.stride;
  }
};

/// Loads key i of the group into f.fetched, rotated, in the type that the products read.
const std::byte* fetch_key(Decode& f, const Reading& r, int i, int64_t key) {
  float* row = f.fetched + i * f.dim;
  load_row(r.keys, f.now->key[i], row);
  if (r.segment.rotate) rotate_in_place(*f.call.rotations, position_of(r.segment, key), row);
  if (r.key_type != DType::BF16) return reinterpret_cast<const std::byte*>(row);
  // bf16 rows are contiguous, below the f32 row that is being read.
  uint16_t* packed = reinterpret_cast<uint16_t*>(f.fetched) + i * f.dim;
  for (int t = 0; t < f.dim; t += kLanes) store_bf16(packed + t, load(row + t));
  return reinterpret_cast<const std::byte*>(packed);
}

/// Computes the addresses of keys [at, at + count) of a segment, and of their values.
void locate(const Reading& r, int64_t at, int count, Group& group) {
  const int page = r.keys.page_rows;
  const bool listed = !r.segment.index.empty();
  for (int i = 0; i < count;) {
    const int64_t row = row_of(r.segment, at + i);
    const std::byte *key = r.keys.at(row), *value = r.values.at(row);
    const int along = listed ? 1 : page - static_cast<int>(row & (page - 1));
    for (const int end = along < count - i ? i + along : count; i < end; ++i) {
      group.key[i] = key, group.value[i] = value;
      key += r.keys.stride, value += r.values.stride;
    }
  }
}

/// Prefetches the first group of a part.
void fetch_first(const Decode& f, int count) {
  for (int i = 0; i < count; ++i) {
    prefetch_bytes(f.now->key[i], f.key_bytes);
    prefetch_bytes(f.now->value[i], f.value_bytes);
  }
}

/// Locates the group at `at`, before `end`, for prefetching. If it has fewer rows than the present
/// group (`count`), rows of the present group are repeated, so that nothing is prefetched in vain.
void look_ahead(Decode& f, const Reading& r, int64_t at, int64_t end, int count) {
  const int64_t left = end - at;
  const int rows = left < 0 ? 0 : left < kGroup ? static_cast<int>(left) : kGroup;
  locate(r, at, rows, *f.next);
  for (int i = rows; i < count; ++i) {
    f.next->key[i] = f.now->key[i], f.next->value[i] = f.now->value[i];
  }
}

/// Converts rows into f.fetched if the products cannot read them as stored.
void convert(Decode& f, const Reading& r, int64_t at, int count) {
  if (r.segment.rotate || r.key_type != r.keys.type) {
    for (int i = 0; i < count; ++i) f.now->key[i] = fetch_key(f, r, i, at + i);
  }
  if (r.value_type == r.values.type) return;
  for (int i = 0; i < count; ++i) {
    float* to = f.fetched + (kGroup + i) * f.dim;
    load_row(r.values, f.now->value[i], to);
    f.now->value[i] = reinterpret_cast<const std::byte*>(to);
  }
}

/// Turns the scores of keys [at, at + count) into weights, row by row.
void softmax_rows(Decode& f, const KeySegment& s, int64_t at, int count) {
  for (int m = 0; m < f.rows; ++m) {
    const KeyRange range = visible_keys(s, f.flat.position(m));
    int64_t lo = range.begin - at, hi = range.end - at;
    lo = lo < 0 ? 0 : lo > count ? count : lo;
    hi = hi < lo ? lo : hi > count ? count : hi;
    if (lo < hi) {
      softmax_row(f, m, static_cast<int>(lo), static_cast<int>(hi), count);
    } else {
      for (int i = 0; i < kGroup; ++i) f.weights[m * kGroup + i] = 0.0f;
    }
  }
}

/// Processes keys [begin, end) of a segment.
void segment_part(Decode& f, const KeySegment& s, int64_t begin, int64_t end) {
  const Reading r(f, s);
  load_queries(f, s.query, r.keys.mixed && r.key_type == r.keys.type);
  f.key_bytes = r.keys.stride, f.value_bytes = r.values.stride;
  if (f.bf16 != nullptr) f.bf16->read_as(r.key_type, r.value_type);
  const auto score = pick<ScoreKeys>(r.key_type, f.rows);
  const auto add = pick<AddValues>(r.value_type, f.rows);
  const KeyRange first = visible_keys(s, f.flat.position(0));
  const KeyRange last = visible_keys(s, f.flat.position(f.rows - 1));
  begin = begin > first.begin ? begin : first.begin;
  end = end < last.end ? end : last.end;
  if (begin >= end) return;
  // The rows prefetched at the end of a part are the first rows of the thread's next part.
  const int64_t ahead = s.count < last.end ? s.count : last.end;
  const auto count_at = [&](int64_t at) {
    return end - at < kGroup ? static_cast<int>(end - at) : kGroup;
  };
  locate(r, begin, count_at(begin), *f.now);
  fetch_first(f, count_at(begin));
  for (int64_t at = begin; at < end; at += kGroup) {
    const int count = count_at(at);
    look_ahead(f, r, at + count, ahead, count);
    convert(f, r, at, count);
    if (f.bf16 != nullptr) {
      f.bf16->score(f.now->key, r.key_stride, count, f.weights, {f.next->key, f.key_bytes});
    } else {
      score(f, count);
    }
    softmax_rows(f, s, at, count);
    if (f.bf16 != nullptr) {
      f.bf16->add_values(f.now->value, count, f.weights, {f.next->value, f.value_bytes});
    } else {
      add(f, count);
    }
    Group* const done = f.now;
    f.now = f.next, f.next = done;
  }
}

bool bf16_serves(const AttendUnit& unit) {
  bool served =
      unit.call->compute == AttendCompute::kBest && DecodeBf16::serves(unit.call->head_dim);
  for (int i = 0; i < unit.segment_count; ++i) {
    const KvType type = unit.segments[i].rows.type;
    served = served && in_bf16(type.k) && in_bf16(type.v);
    served = served && type.v == unit.segments[0].rows.type.v;  // the sums have one element order
  }
  return served;
}

void write_out(const Decode& f) {
  for (int m = 0; m < f.rows; ++m) {
    const float* from = f.out + m * f.dim;
    if (f.unit.partial_out != nullptr) {
      f.unit.partial_max[m] = f.max[m];
      f.unit.partial_sum[m] = f.sum[m];
      std::memcpy(f.unit.partial_out + m * f.call.head_dim, from,
                  sizeof(float) * static_cast<size_t>(f.call.head_dim));
      continue;
    }
    const int64_t offset = f.flat.offset(m);
    const float inverse = f.sum[m] > 0 ? 1.0f / f.sum[m] : 0.0f;
    for (int t = 0; t < f.call.head_dim; ++t)
      f.call.out[offset * f.call.head_dim + t] = from[t] * inverse;
    if (f.call.lse != nullptr) {
      f.call.lse[offset] =
          f.sum[m] > 0 ? f.max[m] / kLog2e + __builtin_logf(f.sum[m]) : -__builtin_inff();
    }
  }
}

}  // namespace

size_t decode_scratch_bytes(const HostCall& call) { return bytes_of<Scratch>(padded_dim(call)); }

[[gnu::nonnull]] void attend_decode(const AttendUnit& unit, std::byte* scratch) {
  Decode f(unit, ScratchLayout(scratch));
  DecodeBf16 products(f.dim, f.rows, f.bf16_scratch);
  if (bf16_serves(unit)) f.bf16 = &products;

  if (f.bf16 != nullptr) DecodeBf16::begin();
  int64_t start = 0;  // offset of the segment within the concatenated keys
  for (int i = 0; i < unit.segment_count; ++i) {
    const KeySegment& s = unit.segments[i];
    const int64_t begin = unit.key_begin > start ? unit.key_begin - start : 0;
    const int64_t end = unit.key_begin + unit.key_count - start;
    if (begin < s.count && end > begin) segment_part(f, s, begin, end < s.count ? end : s.count);
    start += s.count;
  }
  if (f.bf16 != nullptr) {
    f.bf16->read_sums(f.out);
    DecodeBf16::end();
  }
  write_out(f);
}

}  // namespace longhaul::LH_ISA
