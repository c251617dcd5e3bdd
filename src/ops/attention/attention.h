#pragma once
// Softmax attention of a block of query rows over lists of key segments. Every attention method is
// expressed with it. The method decides which segments a row sees and at which positions their keys
// stand. The kernels handle ranges, positions and visibility, and do not depend on methods.
//
//   out[r, h] = sum over visible keys j of softmax_j(scale * q[r, h] . k[j]) * v[j]
//
// There is one softmax over all segments of a task. Two models change the logits. Gemma 2 caps them
// to cap * tanh(logit / cap) (arXiv:2408.00118, 2). gpt-oss adds a learned logit to every head's
// denominator, a sink without a value (arXiv:2508.10925, 2).

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "ops/attention/kv_type.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Rows of one KV head as stored by the KV store: row i is in pages[i / page_rows]. A page holds
/// `page_rows` (a power of two) key rows, then `page_rows` value rows, each with `head_dim`
/// elements of the respective type.
struct PagedRows {
  const std::byte* const* pages = nullptr;
  int page_rows = 0;
  int head_dim = 0;
  KvType type;
  Place place;  ///< location of the pages; `pages` itself is host memory
  /// Copy of `pages` on the pages' device, for kernels; null on the host.
  const std::byte* const* listed = nullptr;
  /// The value of a row is its key, which is stored once; pages hold no value rows.
  bool values_in_keys = false;

  size_t key_bytes() const { return bytes_of(type.k, head_dim); }  ///< bytes per row
  size_t value_bytes() const { return bytes_of(type.v, head_dim); }
  size_t page_bytes() const {
    return static_cast<size_t>(page_rows) * (key_bytes() + (values_in_keys ? 0 : value_bytes()));
  }
};

enum class Visibility : uint8_t {
  kAll,     ///< every row sees every key
  kCausal,  ///< key position <= row position
  kWindow,  ///< causal, and row position - key position < window
  kBeyond,  ///< row position - key position >= window (InfLLM's aged keys)
};

/// Visible rows of listed pages for tiles of 64 query rows, on a device. The first tile begins with
/// the task's first row, and a task has at most two tiles.
struct PageMasks {
  View<const uint64_t> rows;  ///< [pages][2 tiles]: bit r is set if row r of the page is visible
  /// [1]: number of visible (row, key) pairs in all segments of the task
  View<const int64_t> pairs;
  bool empty() const { return rows.empty(); }
};

/// Keys with one visibility rule: a range of stored rows, or a list of them.
struct KeySegment {
  PagedRows rows;
  int64_t begin = 0;          ///< first row of the range (unused with `index`)
  int64_t count = 0;          ///< number of keys
  View<const int32_t> index;  ///< row numbers [count], ascending; empty: begin, begin + 1, ...
  bool whole_pages = false;   ///< `index` holds page numbers; all rows of these pages are keys
  PageMasks
      masks;  ///< masks of the listed pages; keys must be visible by `visible` and by their mask
  int64_t position = 0;            ///< position of key i is position + i ...
  bool indexed_positions = false;  ///< ... or position + index[i], with the row number as offset
  bool rotate = false;             ///< keys are stored raw and must be rotated to their positions
  Visibility visible = Visibility::kCausal;
  int64_t window = 0;
  int query = 0;  ///< index of the query form that multiplies these keys
  /// If an operation produces the number of keys (RowList::count), it may be unknown when a method
  /// writes the segment. These are views of one number each, or empty. On a device attend() reads
  /// them there. On the host resolve_counts() first folds them into `count` and `position`.
  View<const int32_t> device_count;  ///< actual number of keys, at most `count`
  /// number of keys after this segment, by which its position is reduced
  View<const int32_t> count_after;

  /// Sets `visible` to kCausal, or to the layer's own window if it has one (ModelShape::own_window;
  /// 0: none).
  void see_within(int64_t own_window) {
    visible = own_window > 0 ? Visibility::kWindow : Visibility::kCausal;
    window = own_window;
  }
};

/// Query heads [head_begin, +head_count) of rows [row_begin, +row_count) see `segments`. For
/// visibility, row r has position row_position + (r - row_begin).
struct AttendTask {
  int head_begin = 0, head_count = 0;
  int row_begin = 0, row_count = 0;
  int64_t row_position = 0;
  std::span<const KeySegment> segments;
};

enum class AttendCompute : uint8_t {
  kBest,  ///< bf16 products if the CPU supports them
  kF32    ///< f32 products
};

struct AttendCall {
  Queue* queue = &host_queue();
  /// The queries [rows, heads, head_dim], in one form or several (with different rotations, for
  /// example).
  std::span<const View<const float>> queries;
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  float cap = 0;            ///< soft cap of the logits; 0: none
  View<const float> sinks;  ///< [heads] logits (natural), for attend() only; empty: none
  const Rotations* rotations = nullptr;  ///< for segments with `rotate`; must cover their positions
  AttendCompute compute = AttendCompute::kBest;
  View<float> out;  ///< [rows, heads, head_dim]
  View<float> lse;  ///< [rows, heads] log of the softmax denominator, natural; may be empty
  /// `out` and `lse` (not empty) hold the result of attend() for the same rows and other keys. For
  /// the rows in the tasks, they are merged into one softmax over both sets of keys. `sinks` must
  /// be empty, because the earlier call included them.
  bool joins = false;
  /// [rows, heads]: lse that attend() wrote for these rows. Operations that recompute the same
  /// softmax map read it (ops/maps/column_sums.h, line_sums.h, tile_map.h).
  View<const float> lse_in;
  /// The only query form, in bf16, for operations over softmax maps on a device. It saves the
  /// conversion if several operations read the same queries. If it is empty, each operation
  /// converts `queries`. Only block_mass() works without `queries`; other operations read some rows
  /// in f32.
  View<const uint8_t> rounded;
  /// [1], required if some segments have `device_count`: attend() adds the visible pairs of those
  /// segments.
  View<int64_t> counted;
};

/// Runs the tasks in parallel. Tasks must not overlap in (row, head). A row that sees no key gets
/// zeros and lse = -infinity, or its sink. Accumulates in f32.
void attend(const AttendCall& call, std::span<const AttendTask> tasks);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>)> kAttend;

struct AttendJob {
  AttendCall call;
  std::span<const AttendTask> tasks;
};

/// Runs the tasks of several calls in parallel, none of which `joins`. On the host each call gives
/// the same bits as alone, because its keys are divided into parts by its own tasks. A device
/// divides the keys of all calls together, which changes the rounding of sums.
void attend(std::span<const AttendJob> jobs);
inline const DeviceOperation<bool(std::span<const AttendJob>)> kAttendAll;

/// Resolves counts in host memory: `count` becomes the number in `device_count`, `position` is
/// reduced by the number in `count_after`, and both views become empty.
void resolve_counts(std::span<KeySegment> segments);

/// Returns the number of visible (row, query head, key) triples of the tasks. Methods are compared
/// by this measure of work. Segments with `device_count` are not counted.
int64_t visible_pairs(std::span<const AttendTask> tasks);

}  // namespace longhaul
