#pragma once
// Softmax attention of a block of query rows over lists of key segments. Every attention method is
// written in it: the method decides which segments a row sees and where their keys stand; the
// kernels know ranges, positions and visibility, but no methods.
//
//   out[r, h] = sum over visible keys j of softmax_j(scale * q[r, h] . k[j]) * v[j]
//
// with one softmax over all segments of a task. Two models change the logits: Gemma 2 bounds them
// to cap * tanh(logit / cap) (arXiv:2408.00118, 2), gpt-oss adds a learned logit to every head's
// denominator, a sink that has no value (arXiv:2508.10925, 2).

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "ops/attention/kv_type.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Rows of one KV head as the KV store keeps them: row i is in pages[i / page_rows]. A page holds
/// `page_rows` (a power of two) key rows, then `page_rows` value rows, each `head_dim` elements of
/// its side's type.
struct PagedRows {
  const std::byte* const* pages = nullptr;
  int page_rows = 0;
  int head_dim = 0;
  KvType type;
  Place place;  ///< of the pages; `pages` itself is host memory
  /// The same addresses where the pages are, for kernels; null on the host.
  const std::byte* const* listed = nullptr;

  size_t key_bytes() const { return bytes_of(type.k, head_dim); }  ///< of a row
  size_t value_bytes() const { return bytes_of(type.v, head_dim); }
  size_t page_bytes() const {
    return static_cast<size_t>(page_rows) * (key_bytes() + value_bytes());
  }
};

enum class Visibility : uint8_t {
  kAll,     ///< every row sees every key
  kCausal,  ///< key position <= row position
  kWindow,  ///< causal, and row position - key position < window
  kBeyond,  ///< row position - key position >= window (InfLLM's aged keys)
};

/// Which rows of listed pages tiles of 64 rows see, on a device. The first tile begins with the
/// task's first row, which has two at most.
struct PageMasks {
  View<const uint64_t> rows;  ///< [pages][2 tiles]: bit r is set where row r of the page is seen
  View<const int64_t> pairs;  ///< [1]: of (row, key) that all segments of the task make visible
  bool empty() const { return rows.empty(); }
};

/// Keys that are seen under one rule: a stretch of stored rows, or a list of them.
struct KeySegment {
  PagedRows rows;
  int64_t begin = 0;               ///< first row of the stretch (unused with `index`)
  int64_t count = 0;               ///< keys
  View<const int32_t> index;       ///< row numbers [count], ascending; empty: begin, begin + 1, ...
  bool whole_pages = false;        ///< `index` holds numbers of pages, all of whose rows are keys
  PageMasks masks;                 ///< of these pages: what is seen if `visible` allows it, too
  int64_t position = 0;            ///< key i stands at position + i, ...
  bool indexed_positions = false;  ///< ... or at position + its row number, index[i]
  bool rotate = false;             ///< keys are stored raw: rotate them at their positions
  Visibility visible = Visibility::kCausal;
  int64_t window = 0;
  int query = 0;  ///< which of the call's query forms multiplies these keys
  /// Where an operation counts keys (RowList::count), the number may not be known yet when a method
  /// writes the segment. Views of one number each, empty where there is none: on a device attend()
  /// reads them there; those on the host resolve_counts() puts into `count` and `position` before.
  View<const int32_t> live;    ///< how many keys there are, at most `count`
  View<const int32_t> behind;  ///< how many keys follow this segment: it moves back by as many

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
  kBest,  ///< bf16 products where the CPU has them
  kF32    ///< f32 products
};

struct AttendCall {
  Queue* queue = &host_queue();
  /// The queries [rows, heads, head_dim], in one form or several (rotated differently, say).
  std::span<const View<const float>> queries;
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  float cap = 0;            ///< of the logits, which it bounds smoothly; 0: none
  View<const float> sinks;  ///< [heads] logits, natural, of attend() alone; empty: none
  const Rotations* rotations = nullptr;  ///< for segments with `rotate`: must cover their positions
  AttendCompute compute = AttendCompute::kBest;
  View<float> out;  ///< [rows, heads, head_dim]
  View<float> lse;  ///< [rows, heads] log of the softmax denominator, natural; may be empty
  /// `out` and `lse`, which is not empty, hold what attend() has found for the rows and other keys:
  /// they get one softmax over both, where the tasks name them. `sinks` are empty: they took part
  /// then.
  bool joins = false;
  /// [rows, heads]: the lse that attend() has written for these rows. Operations that go over the
  /// same softmax map again read it (ops/maps/column_sums.h, line_sums.h, tile_map.h).
  View<const float> known_lse;
  /// The only form of the queries in bf16, for operations over softmax maps on a device: where
  /// several read it they need not round it each for itself. Empty: they do. Few rows are read
  /// from the form itself, which block_mass() alone does without.
  View<const uint8_t> rounded;
  /// [1], where some segments are `live`: attend() adds the visible pairs of those.
  View<int64_t> counted;
};

/// Runs the tasks in parallel. Tasks must not overlap in (row, head). A row that sees no key gets
/// zeros and lse = -infinity, or its sink. Accumulates in f32.
void attend(const AttendCall& call, std::span<const AttendTask> tasks);

/// Puts counts that are in host memory into the segments: `count` becomes the number in `live`,
/// `position` is reduced by the number in `behind`, and both views become empty.
void resolve_counts(std::span<KeySegment> segments);

/// How many (row, query head, key) triples the tasks make visible: the measure of work by which
/// methods are compared. Segments that are `live` are left out.
int64_t visible_pairs(std::span<const AttendTask> tasks);

}  // namespace longhaul
