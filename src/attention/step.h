#pragma once
// LayerStep describes the work of one layer in one pass: the input rows, the KV store and the
// outputs. An attention method receives it as the argument of attend() and observe(). A pass
// processes some tokens of a prompt, or one generated token.
//
// Terms: A row is one token of the pass (q, k, v, out) or one stored key with its value. A list
// holds the stored rows of one KV head in one layer; if query heads choose rows
// (Chooser::kQueryHead), each query head has a list. A stream is one KvStore. An observation
// recomputes attention probabilities, for example to score stored rows.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attention/attend_batch.h"
#include "attention/model_shape.h"
#include "attention/plan.h"
#include "base/array.h"
#include "base/nth.h"
#include "kv/kv_store.h"
#include "kv/rope_append.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

class EvictionBatch;

/// Describes a prompt before it is processed.
struct PromptFacts {
  int64_t begin = 0;   ///< length of the context before the prompt
  int64_t tokens = 0;  ///< number of new tokens
  /// Tokens of the question (instruction) at the end of the prompt; 0: unknown.
  int64_t instruction = 0;
  int chunk = 0;  ///< largest number of rows of one pass, and of passes that are computed together
  /// Positions of context tokens, ascending. A method that looks up blocks of older tokens
  /// (MethodInfo::looks_up) also includes the blocks of these tokens, even if it does not select
  /// them. All other methods ignore this field. Analyses set it. Memory forecasts do not account
  /// for it.
  std::span<const int64_t> evidence = {};
};

/// The kind of tokens in a pass.
enum class Phase : uint8_t { kPrompt, kInstruction, kDecode };

/// A forward pass over `count` of the prompt's new tokens. The passes with `discard` false cover
/// every new token exactly once, in order. The last pass is one of these, and yields the logits of
/// the next token. A pass with `discard` true processes tokens ahead of time or a second time. In
/// each layer its rows are removed from its stream after the layer's attention. If several
/// discarding passes follow each other, and each begins where the previous one ended, their rows
/// are removed together after the last one.
///
/// Adjacent passes are computed together as far as the chunk allows (passes_together()). Each layer
/// multiplies the rows of all these passes by its weights at once. The layer then computes
/// attention for one pass after the other. If MethodPlan::begins_together is set, the method first
/// does the work that the passes share. In a layer, a pass may therefore depend on the earlier
/// passes in this layer, and on its own result of earlier layers. It must not depend on anything
/// else.
struct Pass {
  /// Index of the first row among the new tokens; new token 0 is at position PromptFacts::begin.
  int64_t begin = 0;
  int64_t count = 0;
  int stream = 0;        ///< index of the KV store that the pass reads and writes
  bool discard = false;  ///< true if the rows of the pass are removed again
  Phase phase = Phase::kPrompt;
  bool last = false;  ///< true if the pass ends the prompt
  /// Number of discarded rows that are removed from the stream after this pass.
  int64_t taken_back = 0;
  int also_to = -1;  ///< index of another stream that also receives the keys and values; -1: none

  int64_t end() const { return begin + count; }
};

/// The inputs of attention over a layer's lists. Observations of the same step reuse them.
struct Attended {
  View<const float> queries;             ///< [rows, heads, head_dim], rotated to their positions
  const Rotations* rotations = nullptr;  ///< rotations for keys that are stored raw
  int64_t position = 0;                  ///< position of row 0 in these rotations
};

class LayerStep;

/// A function that receives the tasks of every attention call before the call runs. Analyses and
/// tests use it. The LayerStep is the step of one pass, or the combined step of several passes
/// (LayerStep::all). A row may occur in several calls.
using AttentionObserver = std::function<void(const LayerStep&, std::span<const AttendTask>)>;

/// Counts the attention work of one sequence since the sequence began, and holds its observer.
struct AttentionRecord {
  int64_t pairs = 0;        ///< (row, query head, key) triples computed on the host
  Array<int64_t> counted;   ///< one counter in device memory: triples computed on the device
  int64_t dense_pairs = 0;  ///< triples that dense attention would have computed (causal_pairs.h)
  double seconds = 0;       ///< seconds spent in attend()
  AttentionObserver observer;

  /// Returns the device's counter if some task has a length that only the device knows
  /// (KeySegment::device_count). Such calls increment it. Otherwise returns an empty view.
  View<int64_t> counted_pairs(Queue& on, std::span<const AttendTask> tasks);
  /// Returns the triples of host and device; waits for the device if `counted` is in use.
  int64_t all_pairs(Queue& on) const;
  /// Sets the counts to those of another record of the same queue, without waiting. The observer
  /// stays.
  void take_counts(Queue& on, const AttentionRecord& from);
};

/// The work of one layer in one pass. q and k are raw, which means not rotated.
class LayerStep {
 public:
  Queue* queue = &host_queue();
  int layer = 0;
  int kv_heads = 0;
  int64_t begin = 0;  ///< absolute position of row 0
  int rows = 0;
  View<const float> q;     ///< [rows, heads, head_dim]
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
  View<float> out;         ///< [rows, heads, head_dim]
  /// Log of the softmax denominators, [rows, heads]; attend() fills it if it is not empty.
  View<float> lse;
  std::span<const int32_t> tokens;  ///< token ids of the rows; empty if unknown
  const ModelShape* shape = nullptr;
  Pass pass;
  /// Number of passes whose rows this step contains; above 1 only in the combined step (`all`).
  int passes = 1;
  int nth_pass = 0;  ///< index of this pass among the passes that are computed together
  /// Position of the first non-discarded row of the passes computed together.
  int64_t together_begin = 0;
  /// Number of non-discarded rows of the passes computed together; the positions of these rows are
  /// consecutive.
  int64_t together_rows = 0;
  int64_t prompt_end = 0;              ///< position after the last token of the prompt
  KvStore* store = nullptr;            ///< the stream of the pass
  std::span<KvStore> streams;          ///< all streams
  const MethodPlan* method = nullptr;  ///< the plan of the method
  std::span<const ListPlan> plans;     ///< per KV head of the layer
  /// The combined step: it contains the rows of all passes that are computed together, as if they
  /// were one pass. It is set only in the first of these passes, and only with
  /// MethodPlan::begins_together. Otherwise it is null. attend() may write results to all->out
  /// before the passes are processed one by one.
  LayerStep* all = nullptr;
  /// One flag per KV head: nonzero if this call computes the attention of the head. Empty means all
  /// heads. Another part of the method computes the heads whose flag is 0.
  std::span<const uint8_t> only;
  AttendCompute compute = AttendCompute::kBest;
  /// False if another call for these rows includes the model's sink logits.
  bool sinks = true;
  /// The method sets this to true if a row saw keys whose selection depended on later rows.
  bool chose = false;

  bool decoding() const { return pass.phase == Phase::kDecode; }
  // The following functions are for passes that are computed together. None of the passes may be
  // discarded.
  /// Returns whether this is the combined step of several passes (LayerStep::all).
  bool of_several() const { return passes > 1; }
  /// Returns whether this step contains the last row of the passes that are computed together.
  bool ends_together() const { return begin + rows == together_begin + together_rows; }
  /// Returns the part of `numbers` that belongs to this step's rows. `numbers` has the same number
  /// of values for each row of the passes that are computed together.
  template <class T>
  View<T> part_of_all(View<T> numbers) const {
    const int64_t width = numbers.size() / together_rows;
    return numbers.part((begin - together_begin) * width, rows * width);
  }
  int head_dim() const { return shape->dim_of(layer); }
  /// Returns the number of query heads that share a KV head.
  int group() const { return shape->heads / kv_heads; }
  int64_t own_window() const { return shape->own_window(layer); }
  bool attends(int kv_head) const { return only.empty() || nth(only, kv_head) != 0; }

  /// Returns q of the rows from absolute position `position` on.
  View<const float> q_from(int64_t position) const;
  /// Returns the RoPE frequencies of the layer, scaled by the plan's NTK factor (See::stretch).
  const RopeTable& rope() const;
  /// rotations() returns the RoPE rotations of positions [first, first + count), which are computed
  /// once for all passes of the batch. list_rotations() returns the rotations of list positions [0,
  /// end). The result of each function is valid until its next call.
  const Rotations& rotations(int64_t first, int64_t count) const;
  const Rotations& list_rotations(int64_t end) const;
  /// Writes queries `from` (a part of q) to `to`, rotated to the positions from `position` on, and
  /// multiplied by the layer's factors (ModelShape::query_weights).
  void turn_queries(const Rotations& rotations, int64_t position, View<const float> from,
                    View<float> to) const;
  /// Returns q rotated to its absolute positions. The rotation runs at most once per step.
  View<const float> rotated_q();
  /// Returns the memory of the rotated queries. The caller must write all rotated queries there.
  /// rotated_q() then returns this memory without rotating q again.
  View<float> take_rotated_q();
  /// In a batch of sequences: returns memory for queries that are rotated to list positions
  /// (`list_q`), together with the append of the step's keys. Otherwise returns an empty view.
  View<float> take_list_q(int64_t position);
  /// Returns the memory. The queries have not been rotated.
  void drop_list_q() {
    if (!list_q_.empty()) rotated_q_room = std::exchange(list_q_, {});
  }
  /// Both functions write rotated queries to `into` and return them. queries_from() rotates row r
  /// to `position` + r. queries_at() rotates all rows to `position`.
  View<const float> queries_from(const Rotations& rotations, int64_t position,
                                 Array<float>& into) const;
  View<const float> queries_at(const Rotations& rotations, int64_t position,
                               Array<float>& into) const;
  /// Returns the queries in the memory of take_list_q(), or an empty view if they have another
  /// position.
  View<const float> list_q(int64_t position) const {
    return position == list_position_ ? list_q_ : View<float>();
  }

  /// Copies of whole lists that the device reads faster than the store, one element per list
  /// (attention/parts/sparse_prefill.cc). The element of a list without a copy has no pages. If the
  /// span is empty, no list has a copy.
  std::span<const PagedRows> copies;
  /// Returns the rows of a list: the copy if there is one, otherwise the stored rows.
  PagedRows rows_of(int list) const;
  /// Returns the list to which `read` belongs. `read` holds the stored rows of the list or its
  /// copy.
  std::optional<int> list_of(const PagedRows& read) const;

  /// Returns a segment with all rows of a list, including the rows of this step. Row i is at
  /// position i. The segment is causal, and limited to the model's sliding window if the layer has
  /// one. Use it only for lists without evictions, in which row i is token i.
  KeySegment all_keys(int list) const;
  /// Returns tasks for the query rows [first, first + count), one for each KV head that `only`
  /// selects. Each task attends to all_keys() of its head. The result is valid until the next call.
  std::span<const AttendTask> over_all_keys(int first, int count);
  /// Computes the attention of the first `count` query rows over all_keys(), with keys at absolute
  /// positions. The plan is not used.
  void attend_all_keys(int count);

  /// Returns rows_of() for every list of the layer. The result is valid until the next call.
  std::span<const PagedRows> lists();

  /// Makes attend() store lse in the workspace, for observations. Call it before attend().
  void keep_lse();

  /// Returns the arguments for attention or for an observation. Each element of `queries` is [rows,
  /// heads, head_dim]; the elements differ in their rotation, and a segment names the one that it
  /// uses (KeySegment::query). The caller sets the outputs.
  AttendCall call(std::span<const View<const float>> queries,
                  const Rotations* rotations = nullptr) const;

  /// Computes the attention of all rows. `segments` holds `per_list` segments for each list. The
  /// query heads are split into contiguous groups of equal size, and group i reads list i. The
  /// causal mask places row 0 at `position`, or at `begin` if `position` is not given. The number
  /// of rows of a segment may be known only on the device (KeySegment::device_count).
  void attend(std::span<const View<const float>> queries, std::span<KeySegment> segments,
              int per_list, const Rotations* rotations = nullptr,
              std::optional<int64_t> position = {});
  /// Computes the attention that is described by `tasks`. `stay` promises that the arguments and
  /// their segments stay unchanged until the batch of the step has run. They are then not copied.
  void attend(std::span<const View<const float>> queries, std::span<const AttendTask> tasks,
              const Rotations* rotations = nullptr, bool stay = false);

  /// Memory that all layers of a pass share. The decoder owns it.
  struct Workspace {
    PerRope<StretchedRope> stretched;  ///< RoPE frequencies scaled by See::stretch
    /// Rotations of the positions of the passes that are computed together.
    PerRope<RotationBuffer> rotations;
    /// Rotations of list positions, with the RoPE table from which they were computed.
    PerRope<std::pair<RopeTable, std::shared_ptr<RotationBuffer>>> in_list;
    /// Lets equal RoPE tables share one buffer of rotations. All sequences of a batch use the same
    /// object.
    std::shared_ptr<SharedRotations> list_tables = std::make_shared<SharedRotations>();
    Array<float> rotated_q, rotated_k, list_q, lse;
    /// Inputs of the last attend_by_plan() (attention/parts/planned_attention.h).
    Attended attended;
    std::vector<PagedRows> lists;
    std::vector<KeySegment> segments;
    std::vector<AttendTask> tasks;
    std::vector<ColumnTarget> targets, observed_targets;
    Array<float> unused;  ///< memory for results that are not needed
  };
  Workspace* workspace = nullptr;
  AttentionRecord* record = nullptr;  ///< counts of the sequence's attention work
  /// If set, attend() adds its tasks to this batch instead of running them. The batch runs after
  /// the method's attend() has returned. The method may then read `out` and `lse` only in observe()
  /// and choose().
  AttendBatch* batch = nullptr;
  /// If set, new keys and values are added to this batch instead of being stored. The batch runs
  /// before the method's attend().
  AppendBatch* appends = nullptr;
  /// If set, an eviction after a generated token is added to this batch if it can run together with
  /// those of other sequences. The batch runs after end_attend() of all sequences.
  EvictionBatch* evictions = nullptr;
  /// In a batch of sequences: the part of the batch's array of rotated queries that belongs to this
  /// step. If it is empty, the rotated queries are stored in the workspace.
  View<float> rotated_q_room;
  /// If set, attend() runs the tasks of one set of query heads at a time and calls this function
  /// after each set. Calls with few rows per task are not divided. The results do not change.
  const std::function<void()>* between_heads = nullptr;

 private:
  void weigh(View<float> queries) const;
  void attend_by_heads(const AttendCall& call, std::span<const AttendTask> tasks) const;

  bool has_rotated_q_ = false;
  View<float> list_q_;  ///< queries that are rotated to list positions from list_position_ on
  int64_t list_position_ = 0;
};

}  // namespace longhaul
