#pragma once
// One layer of one pass over a prompt, or of one generated token, as a method sees it.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attention/attend_batch.h"
#include "attention/model_shape.h"
#include "attention/plan.h"
#include "base/array.h"
#include "base/nth.h"
#include "kv/kv_store.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

/// A prompt before it is read.
struct PromptFacts {
  int64_t begin = 0;        ///< tokens that the context holds already
  int64_t tokens = 0;       ///< new ones
  int64_t instruction = 0;  ///< how many of them, at the end, are the instruction; 0: not known
  int chunk = 0;            ///< cap on the rows of a pass, or of those that are computed together
  /// Tokens of the context, ascending, that look-ups of blocks must find whatever they would choose
  /// (MethodInfo::looks_up); others ignore it. For analyses: forecasts do not know of it.
  std::span<const int64_t> evidence = {};
};

/// What the rows of a pass are.
enum class Phase : uint8_t { kPrompt, kInstruction, kDecode };

/// One forward pass over `count` of the prompt's new tokens. The passes that keep what they read
/// cover the new tokens once, in order; the last pass is one of them and yields the logits of the
/// next token. A pass that discards reads tokens ahead of their turn or once more: its rows are
/// taken back out of its stream, in every layer behind its attention. Such passes in a row that
/// read on where the one before ended are taken back together, behind the last of them.
///
/// Passes in a row are computed together as far as the chunk allows (passes_together()): each layer
/// multiplies the rows of all of them at once, and attends pass by pass, behind what they do alike
/// where the plan says so (Plan::begins_together). So what a pass does in a layer may depend on
/// that layer in earlier passes and on earlier layers of its own pass, and on nothing else.
struct Pass {
  int64_t begin = 0;  ///< 0 is the first new token, which stands at position PromptFacts::begin
  int64_t count = 0;
  int stream = 0;  ///< which of the session's KV stores it reads and writes
  bool discard = false;
  Phase phase = Phase::kPrompt;
  bool last = false;       ///< the prompt ends with it
  int64_t taken_back = 0;  ///< rows that leave its stream behind it: those that were discarded

  int64_t end() const { return begin + count; }
};

/// What attention over a layer's lists was computed from: an observation reads it again.
struct Attended {
  View<const float> queries;             ///< [rows, heads, head_dim], as they were rotated
  const Rotations* rotations = nullptr;  ///< of keys that are rotated when they are read
  int64_t position = 0;                  ///< of row 0
};

class LayerStep;

/// Sees the tasks of every attention call before they run (analyses, tests). The step is that of a
/// pass, or of all rows that are computed together (Method::begin_layer). A row may attend in
/// several calls.
using AttentionObserver = std::function<void(const LayerStep&, std::span<const AttendTask>)>;

/// Counts of the attention of one sequence since it began, and its observer.
struct AttentionRecord {
  int64_t pairs = 0;        ///< (row, query head, key) triples that were computed on the host
  Array<int64_t> counted;   ///< [1] on a device: triples that were counted there
  int64_t dense_pairs = 0;  ///< triples that dense attention would have computed (causal_pairs.h)
  double seconds = 0;       ///< spent in attend()
  AttentionObserver observer;

  View<int64_t> counted_pairs(Queue& on);  ///< the device's counter, which a call adds to
  int64_t all_pairs(Queue& on) const;      ///< waits if a device has counted
};

/// Queries and keys are raw (not rotated).
class LayerStep {
 public:
  Queue* queue = &host_queue();
  int layer = 0;
  int kv_heads = 0;
  int64_t begin = 0;  ///< absolute position of row 0
  int rows = 0;
  View<const float> q;              ///< [rows, heads, head_dim]
  View<const float> k, v;           ///< [rows, kv_heads, head_dim]
  View<float> out;                  ///< [rows, heads, head_dim]
  View<float> lse;                  ///< [rows, heads], filled by attend() where there is one
  std::span<const int32_t> tokens;  ///< ids of the rows; empty where nobody knows them
  const ModelShape* shape = nullptr;
  Pass pass;
  int passes = 1;               ///< whose rows these are; `pass` is the first (begin_layer)
  int nth_pass = 0;             ///< of those that are computed together
  int64_t together_begin = 0;   ///< position of the first row that they keep ...
  int64_t together_rows = 0;    ///< ... and how many these are, one behind the other
  int64_t prompt_end = 0;       ///< position behind the last token of the prompt
  KvStore* store = nullptr;     ///< the pass's stream
  std::span<KvStore> streams;   ///< all of them
  std::span<const Plan> plans;  ///< per KV head of the layer
  /// KV heads that attend; empty: all. The others are attended by another part of the method.
  std::span<const uint8_t> only;
  AttendCompute compute = AttendCompute::kBest;
  /// Whether the rows have seen other keys, with which `out` and `lse` become one softmax
  /// (AttendCall::joins). The model's sink logits took part then.
  bool joins = false;
  bool chose = false;  ///< set where rows were shown a choice in which later ones had a say

  bool decoding() const { return pass.phase == Phase::kDecode; }
  // Of passes that are computed together and discard nothing:
  /// Whether the step is of all their rows, and they are several (Method::begin_layer).
  bool of_several() const { return passes > 1; }
  /// Whether it is the last of them.
  bool ends_together() const { return begin + rows == together_begin + together_rows; }
  /// The step's part of numbers of all their rows.
  template <class T>
  View<T> part_of_all(View<T> numbers) const {
    const int64_t width = numbers.size() / together_rows;
    return numbers.part((begin - together_begin) * width, rows * width);
  }
  int group() const { return shape->heads / kv_heads; }  ///< query heads that share a KV head
  int64_t own_window() const { return shape->own_window(layer); }
  bool attends(int kv_head) const { return only.empty() || nth(only, kv_head) != 0; }

  /// q of the rows that stand at `position` or behind it.
  View<const float> q_from(int64_t position) const;
  /// The model's frequencies in the layer, stretched as its plan says.
  const RopeTable& rope() const;
  /// Its rotations at positions [first, first + count), computed for all passes that are computed
  /// together, and at those of a list of `end` rows. Until the next of the same kind.
  const Rotations& rotations(int64_t first, int64_t count) const;
  const Rotations& list_rotations(int64_t end) const;
  /// q rotated at its absolute positions. Computed once a layer, on demand.
  View<const float> rotated_q();
  /// The memory that rotated_q() returns from now on; the caller writes all rotated queries there.
  View<float> take_rotated_q();
  /// q rotated for methods whose positions are not the absolute ones, in `into`: row r at
  /// position + r, or all rows at one position.
  View<const float> queries_from(const Rotations& rotations, int64_t position,
                                 Array<float>& into) const;
  View<const float> queries_at(const Rotations& rotations, int64_t position,
                               Array<float>& into) const;

  /// Copies of whole lists that the queue's device reads faster than what the store holds; no
  /// pages: there is none of that list. Empty: of none (attention/parts/gathered_lists.h).
  std::span<const PagedRows> copies;
  /// The rows of a list, as they are best read.
  PagedRows rows_of(int list) const;
  /// The list whose rows, or whose copy, was read.
  std::optional<int> list_of(const PagedRows& read) const;

  /// All rows of a list (after the append), row i at position i, causal and within the model's own
  /// sliding window. For lists that forget nothing: row i is token i.
  KeySegment all_keys(int list) const;
  /// Rows [first, first + count) of the KV heads that attend, over all_keys(). Until the next.
  std::span<const AttendTask> over_all_keys(int first, int count);
  /// Attends the first `count` rows so, keys at their places in the text, whatever the plan says.
  void attend_all_keys(int count);

  /// The rows of every list of the layer. Until the next.
  std::span<const PagedRows> lists();

  /// lse in the workspace, for what reads the attention again. Before attend().
  void keep_lse();

  /// What the step's attention, or a look at its scores, is called with: `queries` are forms of
  /// [rows, heads, head_dim]; outputs are for the caller to name.
  AttendCall call(std::span<const View<const float>> queries,
                  const Rotations* rotations = nullptr) const;

  /// Attention of all rows: `segments` holds `per_list` segments for each list, to which query
  /// heads are dealt in contiguous groups. Row 0 stands at `position` for visibility; without it,
  /// at `begin`. Counts may be known only where the queue works (KeySegment::live).
  void attend(std::span<const View<const float>> queries, std::span<KeySegment> segments,
              int per_list, const Rotations* rotations = nullptr,
              std::optional<int64_t> position = {});
  /// Attention by tasks of the method's own making.
  void attend(std::span<const View<const float>> queries, std::span<const AttendTask> tasks,
              const Rotations* rotations = nullptr);

  /// Memory that the layers of a pass share. It belongs to the decoder.
  struct Workspace {
    PerRope<StretchedRope> stretched;   ///< frequencies of a plan that stretches them
    PerRope<RotationBuffer> rotations;  ///< of the rows that are computed together
    PerRope<RotationBuffer> in_list;    ///< of positions in a list
    Array<float> rotated_q, rotated_k, list_q, lse;
    Attended attended;  ///< by the plan (attention/parts/planned_attention.h)
    std::vector<PagedRows> lists;
    std::vector<KeySegment> segments;
    std::vector<AttendTask> tasks;
    std::vector<ColumnTarget> targets, observed_targets;
    Array<float> unused;  ///< results that no caller needs
  };
  Workspace* workspace = nullptr;
  AttentionRecord* record = nullptr;  ///< of the sequence
  /// If set, attend() adds its tasks to this batch, which runs after the method's attend() has
  /// returned, so the method reads `out` and `lse` in observe() and retain() only.
  AttendBatch* batch = nullptr;
  /// If set, attend() of many rows runs the tasks of one set of query heads at a time, and calls
  /// this after each. The results are the same.
  const std::function<void()>* between_heads = nullptr;

 private:
  void attend_by_heads(const AttendCall& call, std::span<const AttendTask> tasks) const;

  bool has_rotated_q_ = false;
};

}  // namespace longhaul
