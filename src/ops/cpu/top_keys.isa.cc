// Best keys of many rows: the scores of a tile as attention computes them, of which only what beats
// a row's list so far is looked at.

#include "ops/cpu/best_keys.h"
#include "ops/cpu/flat_rows.h"

namespace longhaul::LH_ISA {
namespace {

template <class E>
struct Scratch {
  E* queries;     // [rows, dim]
  E* keys;        // packed block
  E* rows;        // pack_bf16's scratch
  float* scores;  // two of [kTileRows, kTileKeys]
};

template <class E>
size_t lay_out(const AttendCall& call, int flat_rows, std::byte* base, Scratch<E>* s) {
  const size_t dim = static_cast<size_t>(round_up(call.head_dim, 32));
  size_t at = 0;
  const auto take = [&](auto*& pointer, size_t count) {
    using T = std::remove_reference_t<decltype(*pointer)>;
    pointer = reinterpret_cast<T*>(base + at);
    at += (count * sizeof(T) + 63) / 64 * 64;
  };
  take(s->queries, static_cast<size_t>(round_up(flat_rows, kTileRows)) * dim);
  take(s->keys, kTileKeys * dim);
  take(s->rows, 32 * dim);
  take(s->scores, size_t{2} * kTileRows * kTileKeys);
  return at;
}

template <class Gemm>
class TileTopKeys {
  using E = typename Gemm::Element;
  static_assert(kTileKeys == kTopTile, "a packed block is a tile of TopRule::kTile");

 public:
  TileTopKeys(const TopKeysUnit& unit, std::byte* scratch)
      : call_(*unit.rows.call),
        keys_(unit.rows),
        rows_(unit.rows),
        best_{unit},
        dim_(round_up(call_.head_dim, 32)) {
    lay_out(call_, rows_.count, scratch, &s_);
  }

  void run() {
    best_.clear(rows_.count);
    rows_.load_queries(call_.queries[0], 0, rows_.padded(), dim_, call_.scale, s_.queries);
    Gemm::begin();
    const int64_t end = keys_.key_begin + keys_.key_count;
    for (int64_t begin = keys_.key_begin; begin < end; begin += kTileKeys) {
      const int count = end - begin < kTileKeys ? static_cast<int>(end - begin) : kTileKeys;
      const KeyBlock block{keys_.segments, nullptr, begin, count, round_up(count, 32), dim_};
      if constexpr (sizeof(E) == 4) {
        pack_f32(block, s_.keys, nullptr);
      } else {
#if defined(__AVX512BF16__)
        pack_bf16(block, s_.keys, nullptr, s_.rows);
#endif
      }
      tiles(block);
    }
    Gemm::end();
  }

 private:
  /// The products of the next rows are started before the scores of these are looked through.
  void tiles(const KeyBlock& block) {
    int buffer = 0;
    score(block, 0, buffer);
    for (int f = 0; f < rows_.count; f += kTileRows, buffer = 1 - buffer) {
      if (f + kTileRows < rows_.count) score(block, f + kTileRows, 1 - buffer);
      float* scores = s_.scores + buffer * kTileRows * kTileKeys;
      for (int r = 0; r <= rows_.last_of_tile(f) - f; ++r) {
        float* row = scores + r * kTileKeys;
        for (int j = block.count; j < block.padded_keys; ++j) row[j] = kNoScore;
        best_.offer(f + r, row, block.padded_keys, block.begin);
      }
    }
  }

  void score(const KeyBlock& block, int f, int buffer) {
    Gemm::run(kTileRows, block.padded_keys, dim_, s_.queries + static_cast<int64_t>(f) * dim_, dim_,
              s_.keys, kTileKeys, s_.scores + buffer * kTileRows * kTileKeys, kTileKeys, false);
  }

  const AttendCall& call_;
  const AttendUnit& keys_;
  const FlatRows rows_;
  const BestKeys best_;
  int dim_;
  Scratch<E> s_;
};

size_t tile_scratch_bytes(const AttendCall& call, int flat_rows) {
  Scratch<float> s;  // the larger of the element types
  return lay_out(call, flat_rows, nullptr, &s);
}

void tile(const TopKeysUnit& unit, std::byte* scratch) {
  if (unit.rows.call->compute == AttendCompute::kF32) {
    TileTopKeys<GemmF32>(unit, scratch).run();
  } else {
    TileTopKeys<BestGemm>(unit, scratch).run();
  }
}

}  // namespace

size_t top_keys_few_scratch_bytes(const AttendCall& call);
void top_keys_few(const TopKeysUnit& unit, std::byte* scratch);

extern const TopKeysKernels kTopKeysKernels = {tile_scratch_bytes, tile, top_keys_few_scratch_bytes,
                                               top_keys_few};

}  // namespace longhaul::LH_ISA
