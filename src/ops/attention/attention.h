#pragma once
// Softmax attention of a block of query rows over key segments. All attention methods use this
// operation. A method chooses the segments that a row sees, and the positions of their keys.
// Kernels depend only on the row numbers, positions and visibility in the segments, not on the
// method.
//
//   out[r, h] = sum over visible keys j of softmax_j(scale * q[r, h] . k[j]) * v[j]
//
// One softmax covers all segments of a task. Two model families change it. Gemma 2 caps the logits
// to cap * tanh(logit / cap) (arXiv:2408.00118, section 2). gpt-oss adds one learned logit per head
// to the softmax denominator. This logit is called a sink and has no value (arXiv:2508.10925,
// section 2).

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "ops/attention/kv_type.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// The keys and values of one KV head in one layer, as the KV store holds them. A stored row is the
/// key and the value of one token. Stored row i is in pages[i / page_rows]. A page holds
/// `page_rows` keys, followed by `page_rows` values. page_rows is a power of two. Each key and
/// value has `head_dim` elements.
struct PagedRows {
  const std::byte* const* pages = nullptr;
  int page_rows = 0;
  int head_dim = 0;
  KvType type;
  Place place;  ///< memory that holds the pages; the array `pages` itself is in host memory
  /// A copy of the array `pages` in device memory, which kernels read. Null on the host.
  const std::byte* const* listed = nullptr;
  /// If true, the stored key of a token is also its value. Pages then hold no separate values.
  bool values_in_keys = false;

  /// Returns the size of one stored key in bytes.
  size_t key_bytes() const { return bytes_of(type.k, head_dim); }
  size_t value_bytes() const { return bytes_of(type.v, head_dim); }
  size_t page_bytes() const {
    return static_cast<size_t>(page_rows) * (key_bytes() + (values_in_keys ? 0 : value_bytes()));
  }
};

enum class Visibility : uint8_t {
  kAll,     ///< every query row sees every key
  kCausal,  ///< a query row sees keys whose position is at most its own
  kWindow,  ///< causal, and row position - key position < window
  kBeyond,  ///< row position - key position >= window (InfLLM's aged keys)
  kChunk,   ///< causal, and in the same chunk: positions [n * window, (n + 1) * window)
};

/// Masks of the visible keys in listed pages, for operations on a device. There is one mask for
/// each page and each tile of 64 query rows. The first tile begins with the first row of the task.
/// A task has at most two tiles.
struct PageMasks {
  /// [pages][2 tiles]: bit r of a mask is set if key r of the page is visible to the rows of the
  /// tile.
  View<const uint64_t> rows;
  /// [1]: the number of visible (query row, key) pairs in all segments of the task.
  View<const int64_t> pairs;
  bool empty() const { return rows.empty(); }
};

/// A set of keys with one visibility rule. The keys are a range of stored rows or a list of them.
struct KeySegment {
  PagedRows rows;
  int64_t begin = 0;  ///< first stored row of the range; unused if `index` is not empty
  int64_t count = 0;  ///< number of keys
  /// [count] numbers of the stored rows, in ascending order. If empty, the keys are rows begin,
  /// begin + 1, and so on.
  View<const int32_t> index;
  /// If true, `index` holds page numbers, and all rows of these pages are keys.
  bool whole_pages = false;
  /// Masks of the pages in `index`. A key is visible only if both `visible` and its mask allow it.
  PageMasks masks;
  int64_t position = 0;  ///< position of key 0
  /// If true, key i has position `position` + index[i], otherwise `position` + i.
  bool indexed_positions = false;
  /// Whether the keys are stored without RoPE, so that attention must rotate them to their
  /// positions.
  bool rotate = false;
  Visibility visible = Visibility::kCausal;
  int64_t window = 0;
  /// Index in AttendCall::queries of the query array for these keys.
  int query = 0;
  /// device_count and count_after are numbers of keys that an earlier operation on the device
  /// determines (RowList::count), for example by selecting keys. The host may not have them when a
  /// method writes the segment. Each of the two views is empty or has one element. On a device,
  /// attend() reads them itself. On the host, resolve_counts() first applies them to `count` and
  /// `position`.
  View<const int32_t> device_count;  ///< actual number of keys; at most `count`
  /// The number of keys after this segment, which attention subtracts from `position`.
  View<const int32_t> count_after;

  /// Sets the visibility in a layer whose own sliding window has `own_window` tokens
  /// (ModelShape::own_window). If own_window is 0, the layer is causal. Otherwise visibility is
  /// limited to this window, or to chunks of this length if `chunked` is true.
  void see_within(int64_t own_window, bool chunked = false) {
    visible = own_window <= 0 ? Visibility::kCausal
              : chunked       ? Visibility::kChunk
                              : Visibility::kWindow;
    window = own_window;
  }
};

/// Attention of query heads [head_begin, head_begin + head_count) of query rows [row_begin,
/// row_begin + row_count) over `segments`. For visibility, row r has position
/// row_position + (r - row_begin).
struct AttendTask {
  int head_begin = 0, head_count = 0;
  int row_begin = 0, row_count = 0;
  int64_t row_position = 0;
  std::span<const KeySegment> segments;
};

enum class AttendCompute : uint8_t {
  kBest,  ///< multiplies in bf16 if the CPU supports it, otherwise in f32
  kF32    ///< multiplies in f32
};

struct AttendCall {
  Queue* queue = &host_queue();
  /// Arrays of the same queries, each [rows, heads, head_dim], for example with different
  /// rotations. KeySegment::query selects the array for a segment.
  std::span<const View<const float>> queries;
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  float cap = 0;  ///< soft cap of the logits; 0: none
  /// [heads] logits of the sinks to base e. Empty if the model has none. Only attend() reads them.
  View<const float> sinks;
  /// Cosines and sines for segments with `rotate`. They must cover the positions of the keys of
  /// these segments.
  const Rotations* rotations = nullptr;
  AttendCompute compute = AttendCompute::kBest;
  View<float> out;  ///< [rows, heads, head_dim]
  View<float> lse;  ///< [rows, heads] natural log of the softmax denominator; may be empty
  /// [rows, heads]: the `lse` that attend() wrote for these rows. It is an input of operations that
  /// compute the same softmax again (ops/maps/column_sums.h, line_sums.h, tile_map.h).
  View<const float> lse_in;
  /// The queries in bf16, if there is only one query array. Several operations of ops/maps on a
  /// device can then share one conversion. If `rounded` is empty, each operation converts
  /// `queries`. If it is set, block_mass() does not need `queries`. All other operations need both,
  /// because they also read some rows in f32.
  View<const uint8_t> rounded;
  /// [1]: a counter to which attend() adds the number of visible (row, head, key) triples of
  /// segments with `device_count`. Required if there are such segments.
  View<int64_t> counted;
};

/// Runs the tasks in parallel. No pair of a query row and a query head may belong to two tasks. If
/// a row sees no key, its output is zero and its lse is -infinity, or the logit of the sink if the
/// head has one. Sums are accumulated in f32.
void attend(const AttendCall& call, std::span<const AttendTask> tasks);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>)> kAttend;

struct AttendJob {
  AttendCall call;
  std::span<const AttendTask> tasks;
};

/// Runs the tasks of several calls in parallel. On the host, the result of each call is bitwise
/// equal to that of a call that runs alone, because the way in which its keys are split into parts
/// depends only on its own tasks. A device splits the keys of all calls together, which changes the
/// rounding of sums.
void attend(std::span<const AttendJob> jobs);
inline const DeviceOperation<bool(std::span<const AttendJob>)> kAttendAll;

/// Applies the numbers of keys in device_count and count_after, which must be in host memory.
/// `count` becomes the number in `device_count`, and the number in `count_after` is subtracted from
/// `position`. Both views become empty.
void resolve_counts(std::span<KeySegment> segments);

/// Returns the number of visible (row, query head, key) triples of the tasks, which measures the
/// work of a method. Segments with `device_count` are not included.
int64_t visible_pairs(std::span<const AttendTask> tasks);

}  // namespace longhaul
