#pragma once
// Softmax attention of a block of query rows over lists of key segments. All attention methods use
// it. A method chooses the segments that a row sees and the positions of their keys. The kernels
// use only ranges, positions and visibility, and do not depend on the method.
//
//   out[r, h] = sum over visible keys j of softmax_j(scale * q[r, h] . k[j]) * v[j]
//
// There is one softmax over all segments of a task. Two model families change the logits. Gemma 2
// caps them to cap * tanh(logit / cap) (arXiv:2408.00118, section 2). gpt-oss adds a learned logit
// to the softmax denominator of every head. This logit is called a sink and has no value
// (arXiv:2508.10925, section 2).

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "ops/attention/kv_type.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// The keys and values of one KV head, as the KV store holds them. Row i is in pages[i /
/// page_rows]. A page holds `page_rows` key rows, followed by `page_rows` value rows. page_rows is
/// a power of two. A row has `head_dim` elements of the respective type.
struct PagedRows {
  const std::byte* const* pages = nullptr;
  int page_rows = 0;
  int head_dim = 0;
  KvType type;
  Place place;  ///< memory that holds the pages; the array `pages` itself is in host memory
  /// Copy of the array `pages` in device memory, for kernels. It is null on the host.
  const std::byte* const* listed = nullptr;
  /// If true, the key of a row is also its value. Keys are then stored once, and pages hold no
  /// value rows.
  bool values_in_keys = false;

  size_t key_bytes() const { return bytes_of(type.k, head_dim); }  ///< returns the bytes per row
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
  kChunk,   ///< causal, and in the same chunk: positions [n * window, (n + 1) * window)
};

/// Masks of visible rows in listed pages, on a device. There is one mask per page and tile of 64
/// query rows. The first tile begins with the first row of the task. A task has at most two tiles.
struct PageMasks {
  /// [pages][2 tiles]: bit r of a mask is set if row r of the page is visible.
  View<const uint64_t> rows;
  /// [1]: the number of visible (row, key) pairs in all segments of the task.
  View<const int64_t> pairs;
  bool empty() const { return rows.empty(); }
};

/// A set of keys with one visibility rule. It is a range of stored rows or a list of them.
struct KeySegment {
  PagedRows rows;
  int64_t begin = 0;  ///< first row of the range; unused if `index` is not empty
  int64_t count = 0;  ///< number of keys
  /// Row numbers [count] in ascending order; empty: rows begin, begin + 1, ...
  View<const int32_t> index;
  /// Whether `index` holds page numbers, and all rows of these pages are keys.
  bool whole_pages = false;
  /// Masks of the listed pages. A key is visible only if both `visible` and its mask allow it.
  PageMasks masks;
  int64_t position = 0;  ///< position of key 0
  /// Whether key i has position `position` + index[i]; otherwise `position` + i.
  bool indexed_positions = false;
  /// Whether keys are stored without rotation and must be rotated to their positions.
  bool rotate = false;
  Visibility visible = Visibility::kCausal;
  int64_t window = 0;
  /// Index in AttendCall::queries of the query array that is multiplied by these keys.
  int query = 0;
  /// Lengths that an earlier operation on the device produces (RowList::count). They may be unknown
  /// when a method writes the segment. Each view is empty or has one element. On a device, attend()
  /// reads them itself. On the host, resolve_counts() first applies them to `count` and `position`.
  View<const int32_t> device_count;  ///< actual number of keys, at most `count`
  /// The number of keys after this segment. `position` is reduced by it.
  View<const int32_t> count_after;

  /// Sets `visible` to kCausal. If the layer has its own sliding window (ModelShape::own_window is
  /// not 0), limits visibility to that window instead, or to chunks of this length.
  void see_within(int64_t own_window, bool chunked = false) {
    visible = own_window <= 0 ? Visibility::kCausal
              : chunked       ? Visibility::kChunk
                              : Visibility::kWindow;
    window = own_window;
  }
};

/// Attention of query heads [head_begin, head_begin + head_count) of rows [row_begin, row_begin +
/// row_count) over `segments`. For visibility, row r has position row_position + (r - row_begin).
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
  /// Arrays of the same queries, each [rows, heads, head_dim]. They differ in their rotation, for
  /// example. KeySegment::query selects the array for a segment.
  std::span<const View<const float>> queries;
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  float cap = 0;  ///< soft cap of the logits; 0: none
  /// [heads] natural logits of sinks; empty: none; only attend() reads them.
  View<const float> sinks;
  /// Rotation table for segments with `rotate`. It must contain the positions of the keys of these
  /// segments.
  const Rotations* rotations = nullptr;
  AttendCompute compute = AttendCompute::kBest;
  View<float> out;  ///< [rows, heads, head_dim]
  View<float> lse;  ///< [rows, heads] natural log of the softmax denominator; may be empty
  /// [rows, heads]: the lse that attend() wrote for these rows. Operations that compute the same
  /// softmax again read it (ops/maps/column_sums.h, line_sums.h, tile_map.h).
  View<const float> lse_in;
  /// The queries in bf16, if there is only one query array. Operations over softmax maps on a
  /// device use it, so that several operations convert the queries only once. If it is empty, each
  /// operation converts `queries`. Only block_mass() works without `queries`; the other operations
  /// also read some rows in f32.
  View<const uint8_t> rounded;
  /// [1]: a counter to which attend() adds the visible pairs of the segments with `device_count`.
  /// It is required if there are such segments.
  View<int64_t> counted;
};

/// Runs the tasks in parallel. No two tasks may contain the same (row, head). A row that sees no
/// key gets zeros and lse = -infinity. If there is a sink, the lse of such a row is the sink's
/// logit. Sums are accumulated in f32.
void attend(const AttendCall& call, std::span<const AttendTask> tasks);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>)> kAttend;

struct AttendJob {
  AttendCall call;
  std::span<const AttendTask> tasks;
};

/// Runs the tasks of several calls in parallel. On the host, the result of
/// each call is bitwise the same as if the call ran alone, because only its own tasks determine how
/// its keys are divided into parts. A device divides the keys of all calls together, which changes
/// the rounding of sums.
void attend(std::span<const AttendJob> jobs);
inline const DeviceOperation<bool(std::span<const AttendJob>)> kAttendAll;

/// Applies the lengths of segments, which must be in host memory. `count` becomes the number in
/// `device_count`, and `position` is reduced by the number in `count_after`. Both views become
/// empty.
void resolve_counts(std::span<KeySegment> segments);

/// Returns the number of visible (row, query head, key) triples of the tasks. It measures the work
/// of a method. Segments with `device_count` are not included.
int64_t visible_pairs(std::span<const AttendTask> tasks);

}  // namespace longhaul
