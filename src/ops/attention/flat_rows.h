#pragma once
// The query rows of a unit in the layout that matrix products read. A unit is the part of a task
// that one thread computes. A flat row is the query of one head of one query row. A tile is
// kTileRows flat rows. The last tile is padded with zeros. This file computes the positions of flat
// rows and finds the key blocks that they see. Include this only in *.isa.cc files, which are
// compiled once per instruction set.

#include "ops/attention/pack_block.h"
#include "ops/core/tile_gemm.h"

namespace longhaul::LH_ISA {

static constexpr float kLowest = -1e30f;  // finite, because kLowest - kLowest must not be NaN
static constexpr float kLog2e = 1.44269504f;

/// Writes x[t] * factor to out[t] for t < n, and zeros for t from n to padded - 1.
static inline void convert_row(const float* x, int n, int padded, float factor, float* out) {
  for (int t = 0; t < n; ++t) out[t] = x[t] * factor;
  for (int t = n; t < padded; ++t) out[t] = 0.0f;
}

static inline void convert_row(const float* x, int n, int padded, float factor, uint16_t* out) {
  for (int t = 0; t < padded; t += kLanes) {
    float lanes[kLanes] = {};
    for (int i = 0; i < kLanes && t + i < n; ++i) lanes[i] = x[t + i] * factor;
    store_bf16(out + t, load(lanes));
  }
}

/// Replaces each score s by log2(e) * cap * tanh(s / cap). `count`, the number of scores, is a
/// multiple of kLanes.
static inline void cap_scores(float cap, int count, float* scores) {
  const Vec top = splat(cap * kLog2e), twice = splat(2 / cap);
  for (int j = 0; j < count; j += kLanes) {
    // tanh(x) = 1 - 2 / (e^(2 * x) + 1). The exponent is clamped, so that large x cannot overflow.
    const Vec x = load(scores + j) * twice;
    const Vec power = exp2_precise(x < splat(100.0f) ? x : splat(100.0f));
    store(scores + j, top - top * splat(2.0f) / (power + splat(1.0f)));
  }
}

struct FlatRows {
  const AttendUnit& unit;
  int count;  ///< number of flat rows

  explicit FlatRows(const AttendUnit& u) : unit(u), count(u.row_count * u.head_count) {}

  int padded() const { return round_up(count, kTileRows); }
  int64_t position(int f) const { return unit.row_position + f / unit.head_count; }
  int head(int f) const { return unit.head_begin + f % unit.head_count; }
  /// Returns the index of flat row f in an array [rows, heads].
  int64_t offset(int f) const {
    const int64_t row = unit.row_begin + f / unit.head_count;
    return row * unit.call->heads + head(f);
  }
  /// Returns log2 of the softmax denominator of flat row f. If the row saw no key or is padding,
  /// returns a number so large that all probabilities become zero.
  float log2_denominator(int f) const {
    const float lse = f < count ? unit.call->lse_in[offset(f)] : kLowest;
    return lse > kLowest ? lse * kLog2e : -kLowest;
  }
  int last_of_tile(int f) const { return (count - f < kTileRows ? count : f + kTileRows) - 1; }

  /// Writes flat rows [f, end) of the query array `form`, multiplied by scale * log2(e), to out
  /// [end - f, dim]. Rows beyond `count` become zeros. `form` is one of AttendCall::queries, which
  /// differ in their rotation.
  template <class E>
  void load_queries(const float* form, int f, int end, int dim, E* out) const {
    load_queries(form, f, end, dim, unit.call->scale * kLog2e, out);
  }

  template <class E>
  void load_queries(const float* form, int f, int end, int dim, float factor, E* out) const {
    const int head_dim = unit.call->head_dim;
    for (; f < end; ++f, out += dim) {
      if (f < count) {
        convert_row(form + offset(f) * head_dim, head_dim, dim, factor, out);
      } else {
        std::memset(out, 0, sizeof(E) * static_cast<size_t>(dim));
      }
    }
  }

  /// Returns whether any row of the tile that begins at flat row f sees any key of the block. Only
  /// the first and the last row are checked. This suffices, because the first and the last visible
  /// key never move backwards from one row to the next.
  bool tile_sees(const KeyBlock& block, int f) const {
    const KeyRange first = visible_keys(*block.segment, position(f));
    const KeyRange last = visible_keys(*block.segment, position(last_of_tile(f)));
    return first.begin < block.begin + block.count && last.end > block.begin;
  }

  /// Converts dot products [kTileRows, kTileKeys] to scores for the softmax. If the call has a cap,
  /// scores are capped. A key that a row does not see gets the score kLowest. Returns a bit mask of
  /// the rows that see no key of the block.
  uint32_t finish_scores(const KeyBlock& block, int f, float* scores) const {
    if (unit.call->cap > 0) {
      for (int r = 0; r < kTileRows; ++r) {
        cap_scores(unit.call->cap, block.padded_keys, scores + r * kTileKeys);
      }
    }
    return hide_unseen(block, f, scores);
  }

 private:
  uint32_t hide_unseen(const KeyBlock& block, int f, float* scores) const {
    const KeySegment& s = *block.segment;
    const int last = last_of_tile(f);
    const KeyRange a = visible_keys(s, position(f)), b = visible_keys(s, position(last));
    const int64_t end = block.begin + block.count;
    const bool all_see_all = b.begin <= block.begin && a.end >= end;
    uint32_t blind = last - f + 1 < kTileRows ? ~0u << (last - f + 1) : 0u;
    if (all_see_all && block.count == block.padded_keys) return blind;
    for (int r = 0; r <= last - f; ++r) {
      const KeyRange seen = visible_keys(s, position(f + r));
      const int lo = clamp_to(block, seen.begin), hi = clamp_to(block, seen.end);
      if (lo >= hi) {
        blind |= 1u << r;
        for (int j = 0; j < block.padded_keys; ++j) scores[r * kTileKeys + j] = kLowest;
        continue;
      }
      float* row = scores + r * kTileKeys;
      for (int j = 0; j < lo; ++j) row[j] = kLowest;
      for (int j = hi; j < block.padded_keys; ++j) row[j] = kLowest;
    }
    return blind;
  }

  static int clamp_to(const KeyBlock& block, int64_t key) {
    const int64_t at = key - block.begin;
    return at < 0 ? 0 : at > block.count ? block.count : static_cast<int>(at);
  }
};

#if defined(__AMX_BF16__)
using BestGemm = GemmAmx;
#elif defined(__AVX512BF16__)
using BestGemm = GemmBf16;
#else
using BestGemm = GemmF32;
#endif

/// Runs Kernel on the unit, with matrix products in the precision that call.compute specifies.
template <template <class> class Kernel, class Unit>
static inline void run_tiles(const HostCall& call, const Unit& unit, std::byte* scratch) {
  if (call.compute == AttendCompute::kF32) {
    Kernel<GemmF32>(unit, ScratchLayout(scratch)).run();
  } else {
    Kernel<BestGemm>(unit, ScratchLayout(scratch)).run();
  }
}

}  // namespace longhaul::LH_ISA
