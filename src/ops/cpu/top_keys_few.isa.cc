// Best keys of few rows (decode): bound by memory, so every key is read once, straight from its
// page, for all rows that share it; arithmetic is f32.

#include "ops/cpu/best_keys.h"
#include "ops/cpu/few_rows.h"
#include "ops/cpu/flat_rows.h"

namespace longhaul::LH_ISA {
namespace {

struct Few {
  int dim;         // head_dim rounded up to 16
  int row_bytes;   // of a stored key
  float* queries;  // [rows, dim]
  float* scores;   // [rows, kTopTile]
  float* fetched;  // [kTopTile, dim] keys that must be converted first
  const std::byte* key[kTopTile];
  const std::byte* ahead[kTopTile];  // of the tile after this one, to be fetched meanwhile
};

size_t lay_out(const AttendCall& call, std::byte* base, Few& f) {
  f.dim = round_up(call.head_dim, 16);
  const size_t dim = static_cast<size_t>(f.dim);
  f.queries = reinterpret_cast<float*>(base);
  f.scores = f.queries + kFewRows * dim;
  f.fetched = f.scores + kFewRows * kTopTile;
  return sizeof(float) * (kFewRows * dim + kFewRows * kTopTile + kTopTile * dim);
}

/// Scores of a tile's `count` keys for M rows; up to the next multiple of kLanes, those of another.
template <DType T, int M>
struct ScoreKeys {
  static void run(const Few& f, int count) {
    for (int g = 0; g < count; g += kLanes) {
      Vec partial[M][kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const int at = g + i < count ? g + i : g;
        for (int b = 0; b < f.row_bytes; b += 64) __builtin_prefetch(f.ahead[at] + b);
        Vec acc[M] = {};
        for (int t = 0; t < f.dim; t += kLanes) {
          const Vec k = load_stored<T>(f.key[at], t);
          for (int m = 0; m < M; ++m) acc[m] = fma(k, load(f.queries + m * f.dim + t), acc[m]);
        }
        for (int m = 0; m < M; ++m) partial[m][i] = acc[m];
      }
      for (int m = 0; m < M; ++m) {
        store(f.scores + m * kTopTile + g, reduce_lanes<Add>(partial[m]));
      }
    }
  }
};

void find_keys(Few& f, const KeySegment& s, int64_t begin, int count, int64_t end, bool convert) {
  for (int i = 0; i < count; ++i) {
    const int64_t at = begin + i, later = at + kTopTile < end ? at + kTopTile : at;
    f.key[i] = key_row(s.rows, f.row_bytes, row_of(s, at));
    f.ahead[i] = key_row(s.rows, f.row_bytes, row_of(s, later));
    if (!convert) continue;
    float* to = f.fetched + i * f.dim;
    load_row(s.rows, f.key[i], to);
    f.key[i] = reinterpret_cast<const std::byte*>(to);
  }
}

}  // namespace

size_t top_keys_few_scratch_bytes(const AttendCall& call) {
  Few f;
  return lay_out(call, nullptr, f);
}

void top_keys_few(const TopKeysUnit& unit, std::byte* scratch) {
  const AttendCall& call = *unit.rows.call;
  const KeySegment& s = *unit.rows.segments;
  const FlatRows rows(unit.rows);
  const BestKeys best{unit};
  Few f;
  lay_out(call, scratch, f);
  f.row_bytes = row_stride(s.rows);
  rows.load_queries(call.queries[0], 0, rows.count, f.dim, call.scale, f.queries);
  const bool convert = call.head_dim % 16 != 0;  // not whole vectors
  if (convert) std::memset(f.fetched, 0, sizeof(float) * static_cast<size_t>(kTopTile * f.dim));
  const auto score = pick<ScoreKeys>(convert ? DType::F32 : s.rows.type, rows.count);

  best.clear(rows.count);
  const int64_t end = unit.rows.key_begin + unit.rows.key_count;
  for (int64_t begin = unit.rows.key_begin; begin < end; begin += kTopTile) {
    const int count = end - begin < kTopTile ? static_cast<int>(end - begin) : kTopTile;
    const int padded = round_up(count, 32);
    find_keys(f, s, begin, count, end, convert);
    score(f, count);
    for (int m = 0; m < rows.count; ++m) {
      float* row = f.scores + m * kTopTile;
      for (int j = count; j < padded; ++j) row[j] = kNoScore;
      best.offer(m, row, padded, begin);
    }
  }
}

}  // namespace longhaul::LH_ISA
