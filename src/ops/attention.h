#pragma once
// Softmax attention of a block of query rows over lists of key segments: the one primitive that
// every attention method is written in. A method decides which segments a
// row sees, at which positions; the kernels know ranges, positions and visibility, no methods.
//
//   out[r, h] = sum over visible keys j of softmax_j(scale * q[r, h] . k[j]) * v[j]
//
// with one softmax over all segments of a task.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/dtype.h"
#include "ops/rope.h"

namespace longhaul {

/// Rows of one KV head as the KV store keeps them: row i is in pages[i / page_rows]. A page holds
/// `page_rows` (a power of two) key rows, then `page_rows` value rows, each `head_dim` elements of
/// `type` (F32, F16, BF16 or Q8_0).
struct PagedRows {
  const std::byte* const* pages = nullptr;
  int page_rows = 0;
  int head_dim = 0;
  DType type = DType::BF16;
};

enum class Visibility : uint8_t {
  kAll,     ///< every row sees every key
  kCausal,  ///< key position <= row position
  kWindow,  ///< causal, and row position - key position < window
  kBeyond,  ///< row position - key position >= window (InfLLM's aged keys)
};

/// A stretch of keys under one rule.
struct KeySegment {
  PagedRows rows;
  int64_t begin = 0;               ///< first row of the stretch (unused with `index`)
  int64_t count = 0;               ///< keys
  View<const int32_t> index;       ///< row numbers [count], ascending; empty: begin, begin + 1, ...
  int64_t position = 0;            ///< key i stands at position + i, ...
  bool indexed_positions = false;  ///< ... or at position + index[i]
  bool rotate = false;             ///< keys are stored raw: rotate them at their positions
  Visibility visible = Visibility::kCausal;
  int64_t window = 0;
  int query = 0;  ///< which of the call's query forms multiplies these keys
  /// One number each, where an operation has counted (RowList::count); resolve_counts() puts them
  /// into `count` and `position`.
  View<const int32_t> live;    ///< keys of `index` that count, no more than `count`
  View<const int32_t> behind;  ///< keys behind this stretch that move it back: position less these

  /// Causal, within the layer's own window where it has one (ModelShape::own_window; 0: none).
  void see_within(int64_t own_window) {
    visible = own_window > 0 ? Visibility::kWindow : Visibility::kCausal;
    window = own_window;
  }
};

/// Query heads [head_begin, +head_count) of rows [row_begin, +row_count) see `segments`. Row r
/// stands at row_position + (r - row_begin) for visibility.
struct AttendTask {
  int head_begin = 0, head_count = 0;
  int row_begin = 0, row_count = 0;
  int64_t row_position = 0;
  std::span<const KeySegment> segments;
};

enum class AttendCompute : uint8_t {
  kBest,
  kF32
};  ///< kBest: bf16 products where the CPU has them

struct AttendCall {
  Queue* queue = &host_queue();
  std::span<const View<const float>>
      queries;  ///< forms of the queries, each [rows, heads, head_dim]
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  const Rotations* rotations = nullptr;  ///< for segments with `rotate`: must cover their positions
  AttendCompute compute = AttendCompute::kBest;
  View<float> out;  ///< [rows, heads, head_dim]
  View<float> lse;  ///< [rows, heads] log of the softmax denominator, natural; may be empty
  /// [rows, heads]: the same of an attention that has run, for what reads its softmax map again
  /// (ops/column_sums.h, line_sums.h, tile_map.h).
  View<const float> known_lse;
};

/// Runs the tasks in parallel. Tasks must not overlap in (row, head). A row that sees no key gets
/// zeros and lse = -infinity. Accumulates in f32.
void attend(const AttendCall& call, std::span<const AttendTask> tasks);

/// What only operations have counted so far becomes part of the segments, where that is known on
/// the host: `count` is what `live` holds, `position` is less what `behind` holds, and both are
/// empty.
void resolve_counts(Queue& queue, std::span<KeySegment> segments);

/// (row, head, key) triples that the tasks make visible: the work as methods are compared by it.
int64_t visible_pairs(std::span<const AttendTask> tasks);

}  // namespace longhaul
