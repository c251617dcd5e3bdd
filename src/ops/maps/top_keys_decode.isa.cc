// Best keys of decode rows. It is memory-bound, so every key is read once, directly from its page,
// for all rows that share it. It uses the matrix unit if there is one, otherwise f32.

#include "ops/maps/top_keys_decode.h"

#include "ops/attention/decode/decode_rows.h"
#include "ops/attention/flat_rows.h"
#include "ops/core/isa/prefetch.h"
#include "ops/maps/best_keys.h"
#include "ops/maps/key_scores.h"

namespace longhaul::LH_ISA {
namespace {

struct Decode {
  int dim;            // head_dim rounded up to 16
  int row_bytes = 0;  // bytes per stored key
  float* queries;     // [rows, dim]
  float* scores;      // [rows, kTopTile]
  float* fetched;     // [kTopTile, dim], for keys that need conversion
  // They are set before they are read; the zeros are for the static analyzer.
  const std::byte* key[kTopTile] = {};
  const std::byte* ahead[kTopTile] = {};  // keys of the next tile, prefetched meanwhile

  Decode(ScratchLayout& layout, int head_dim) : dim(round_up(head_dim, 16)) {
    layout.take(queries, static_cast<size_t>(kDecodeRows) * static_cast<size_t>(dim));
    layout.take(scores, static_cast<size_t>(kDecodeRows) * kTopTile);
    layout.take(fetched, static_cast<size_t>(kTopTile) * static_cast<size_t>(dim));
  }
};

/// Scores of a tile's `count` keys for M rows. Entries up to the next multiple of kLanes hold
/// scores of other keys.
template <DType T, int M>
struct ScoreKeys {
  static void run(const Decode& f, int count) {
    for (int g = 0; g < count; g += kLanes) {
      Vec partial[M][kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const int at = g + i < count ? g + i : g;
        prefetch_bytes(f.ahead[at], f.row_bytes);
        Vec acc[M] = {};
        for (int t = 0; t < f.dim; t += kStretch<T>) {
          for (int j = 0; j < kStretch<T> / kLanes; ++j) {
            const Vec k = load_of_stretch<T>(f.key[at], t, j);
            const float* q = f.queries + t + j * kLanes;
            for (int m = 0; m < M; ++m) acc[m] = fma(k, load(q + m * f.dim), acc[m]);
          }
        }
        for (int m = 0; m < M; ++m) partial[m][i] = acc[m];
      }
      for (int m = 0; m < M; ++m) {
        store(f.scores + m * kTopTile + g, reduce_lanes<Add>(partial[m]));
      }
    }
  }
};

/// Computes the addresses of a tile's keys and of the next tile's keys.
void find_keys(Decode& f, const KeySegment& s, int64_t begin, int count, int64_t end,
               bool convert) {
  const int64_t left = end - begin - kTopTile, later = left < 0 ? 0 : left < count ? left : count;
  const StoredRows keys = keys_of(s.rows);
  locate_rows(s, keys, begin, count, f.key);
  locate_rows(s, keys, begin + kTopTile, later, f.ahead);
  for (int64_t i = later; i < count; ++i) f.ahead[i] = f.key[i];
  for (int i = 0; i < count && convert; ++i) {
    float* to = f.fetched + i * f.dim;
    load_row(keys, f.key[i], to);
    f.key[i] = reinterpret_cast<const std::byte*>(to);
  }
}

#if defined(__AMX_BF16__)
void on_matrix_unit(const TopKeysUnit& unit, const FlatRows& rows, const BestKeys& best,
                    Decode& f) {
  const KeySegment& s = *unit.rows.segments;
  KeyScores scores;
  KeyScores::begin();
  scores.load_queries(f.queries, rows.count, f.dim);
  const int64_t end = unit.rows.key_begin + unit.rows.key_count;
  alignas(64) float worst[16];  // threshold that a score must exceed to enter a query's list
  for (int m = 0; m < 16; ++m) worst[m] = m < rows.count ? kNoScore : -kNoScore;
  for (int64_t begin = unit.rows.key_begin; begin < end; begin += kTopTile) {
    const int count = end - begin < kTopTile ? static_cast<int>(end - begin) : kTopTile;
    const __m512 top = scores.score(s, f.row_bytes, begin, count);
    unsigned beaten = _mm512_cmp_ps_mask(top, _mm512_load_ps(worst), _CMP_GT_OQ);
    for (; beaten != 0; beaten &= beaten - 1) {
      const int m = __builtin_ctz(beaten), padded = round_up(count, 32);
      scores.column(m, count, f.scores);
      for (int j = count; j < padded; ++j) f.scores[j] = kNoScore;
      best.offer(m, f.scores, padded, begin);
      worst[m] = best.worst(m);
    }
  }
  KeyScores::end();
}
#endif

}  // namespace

size_t top_keys_decode_scratch_bytes(const HostCall& call) {
  return bytes_of<Decode>(call.head_dim);
}

[[gnu::nonnull]] void top_keys_decode(const TopKeysUnit& unit, std::byte* scratch) {
  const HostCall& call = *unit.rows.call;
  const KeySegment& s = *unit.rows.segments;
  const FlatRows rows(unit.rows);
  const BestKeys best{unit};
  ScratchLayout layout(scratch);
  Decode f(layout, call.head_dim);
  f.row_bytes = keys_of(s.rows).stride;
  rows.load_queries(call.queries[0], 0, rows.count, f.dim, call.scale, f.queries);
  best.clear(rows.count);
#if defined(__AMX_BF16__)
  if (KeyScores::serves(call, s.rows)) return on_matrix_unit(unit, rows, best, f);
#endif
  const bool convert = call.head_dim % 16 != 0;  // rows are not whole vectors
  if (keys_of(s.rows).mixed) mix_blocks(f.queries, int64_t{rows.count} * f.dim);
  if (convert) std::memset(f.fetched, 0, sizeof(float) * static_cast<size_t>(kTopTile * f.dim));
  const auto score = pick<ScoreKeys>(convert ? DType::F32 : s.rows.type.k, rows.count);
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
