// Best keys of prefill rows. The scores of a tile are computed as in attention, and only scores
// that exceed a row's list so far are processed further.

#include "ops/attention/flat_rows.h"
#include "ops/maps/best_keys.h"
#include "ops/maps/top_keys_decode.h"

namespace longhaul::LH_ISA {
namespace {

TileCounts counts_of(int flat_rows) { return {round_up(flat_rows, kTileRows), 1, 2}; }

template <class Gemm>
class TileTopKeys {
  using E = typename Gemm::Element;
  static_assert(kTileKeys == kTopTile, "a packed block is a tile of TopRule::kTile");

 public:
  TileTopKeys(const TopKeysUnit& unit, ScratchLayout layout)
      : call_(*unit.rows.call),
        keys_(unit.rows),
        rows_(unit.rows),
        best_{unit},
        dim_(round_up(call_.head_dim, 32)),
        s_(layout, call_.head_dim, counts_of(rows_.count)) {}

  void run() {
    best_.clear(rows_.count);
    rows_.load_queries(call_.queries[0], 0, rows_.padded(), dim_, call_.scale, s_.queries);
    Gemm::begin();
    const int64_t end = keys_.key_begin + keys_.key_count;
    for (int64_t begin = keys_.key_begin; begin < end; begin += kTileKeys) {
      const KeyBlock block = block_from(*keys_.segments, nullptr, begin, end, dim_);
      pack(block, s_.keys, nullptr, s_.unpacked_rows);
      tiles(block);
    }
    Gemm::end();
  }

 private:
  /// Starts the products of the next rows before it searches the scores of the present ones.
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

  const HostCall& call_;
  const AttendUnit& keys_;
  const FlatRows rows_;
  const BestKeys best_;
  int dim_;
  const TileScratch<E> s_;
};

size_t tile_scratch_bytes(const HostCall& call, int flat_rows) {
  return bytes_of<TileScratch<float>>(call.head_dim, counts_of(flat_rows));
}

void tile(const TopKeysUnit& unit, std::byte* scratch) {
  run_tiles<TileTopKeys>(*unit.rows.call, unit, scratch);
}

}  // namespace

extern const TopKeysKernels kTopKeysKernels = {tile_scratch_bytes, tile,
                                               top_keys_decode_scratch_bytes, top_keys_decode};

}  // namespace longhaul::LH_ISA
