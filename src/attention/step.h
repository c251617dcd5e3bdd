#pragma once
// LayerStep describes the work of one layer in one pass: the input rows, the KV store and the
// outputs. An attention method receives it as the argument of attend() and observe(). A pass is one
// forward pass over some tokens of a prompt, or over one generated token.
//
// Terms: A query row is one token of the pass (q, k, v, out). A stored row is the key and the value
// of one earlier token. The word row is used for both. A list holds the stored rows of one KV head
// in one layer; if query heads choose rows (Chooser::kQueryHead), each query head has a list. A
// stream is one KvStore. An observation recomputes attention probabilities, for example to score
// stored rows.

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
  /// Number of tokens of the instruction (question) at the end of the prompt; 0: unknown.
  int64_t instruction = 0;
  /// Largest number of rows of a pass, and of a group of passes that are computed together.
  int chunk = 0;
  /// Positions of tokens that attention must include, ascending. A method that selects blocks of
  /// older tokens (MethodInfo::looks_up) also includes the blocks with these tokens. All other
  /// methods ignore this field. Only analyses of methods set it, and memory forecasts do not
  /// account for it.
  std::span<const int64_t> evidence = {};
};

/// The tokens of a pass: those of a prompt before its instruction, those of the instruction, or one
/// generated token.
enum class Phase : uint8_t { kPrompt, kInstruction, kDecode };

/// A forward pass over `count` of the new tokens of a prompt. The passes with discard = false
/// process every new token exactly once, in order. The last pass of a prompt has discard = false
/// and yields the logits of the next token. A pass with discard = true processes tokens ahead of
/// time or a second time. In each layer, its rows are removed from its KV store after the layer's
/// attention. If several discarding passes follow each other, and each begins where the previous
/// one ended, the rows of all of them are removed after the last one.
///
/// Adjacent passes with at most PromptFacts::chunk rows in total form a group, which is computed
/// together (passes_together()). Each layer multiplies the rows of all these passes by its weights
/// at once. It then computes attention for one pass after the other. If MethodPlan::begins_together
/// is set, the method first does the work that the passes share. In a layer, a pass may depend only
/// on earlier passes in this layer, and on its own results of earlier layers.
struct Pass {
  /// Index of the pass's first token among the new tokens; new token 0 is at position
  /// PromptFacts::begin.
  int64_t begin = 0;
  int64_t count = 0;
  int stream = 0;        ///< index of the KV store (stream) that the pass reads and writes
  bool discard = false;  ///< true if the stored rows of the pass are removed again
  Phase phase = Phase::kPrompt;
  bool last = false;  ///< true if the pass ends the prompt
  /// Number of discarded rows that are removed from the stream after this pass.
  int64_t taken_back = 0;
  int also_to = -1;  ///< index of a second stream that also stores the keys and values; -1: none

  int64_t end() const { return begin + count; }
};

/// The inputs of a step's attention, which observations of the same step use again.
struct Attended {
  View<const float> queries;  ///< [rows, heads, head_dim], rotated to the positions of the rows
  const Rotations* rotations = nullptr;  ///< rotations for keys that are stored raw
  int64_t position = 0;                  ///< RoPE position of query row 0
};

class LayerStep;

/// A function that is called before every attention call, with the tasks of the call. Analyses and
/// tests use it. The LayerStep is the step of one pass, or the combined step of several passes
/// (LayerStep::all). The attention of a query row may consist of several calls.
using AttentionObserver = std::function<void(const LayerStep&, std::span<const AttendTask>)>;

/// Counts the attention work of one sequence since the sequence began. Also holds the sequence's
/// observer.
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
  /// Logs of the softmax denominators, [rows, heads]. attend() writes them if the view is not
  /// empty.
  View<float> lse;
  std::span<const int32_t> tokens;  ///< token ids of the rows; empty if unknown
  const ModelShape* shape = nullptr;
  Pass pass;
  /// Number of passes whose rows this step contains; above 1 only in a combined step (`all`).
  int passes = 1;
  int nth_pass = 0;  ///< index of this pass in the group of passes that are computed together
  /// Position of the first non-discarded row in the group of passes.
  int64_t together_begin = 0;
  /// Number of non-discarded rows in the group of passes. Their positions are consecutive.
  int64_t together_rows = 0;
  int64_t prompt_end = 0;              ///< position after the last token of the prompt
  KvStore* store = nullptr;            ///< the KV store of the pass
  std::span<KvStore> streams;          ///< all KV stores of the sequence
  const MethodPlan* method = nullptr;  ///< the rules of the method
  std::span<const ListPlan> plans;     ///< the rules of the layer's lists, per KV head
  /// The combined step, which contains the rows of all passes that are computed together, as if
  /// they were one pass. It is set only in the first of these passes, and only with
  /// MethodPlan::begins_together. Otherwise it is null. attend() of the first pass may already
  /// write results of all passes to all->out.
  LayerStep* all = nullptr;
  /// One flag per KV head: nonzero if attend() must compute the attention of the head's query
  /// heads. Empty means all heads. The caller computes the other heads in another call.
  std::span<const uint8_t> only;
  AttendCompute compute = AttendCompute::kBest;
  /// Whether attend() includes the model's sink logits. False if another attention call for the
  /// same rows includes them.
  bool sinks = true;
  /// The method sets this to true if a query row saw keys whose selection depended on later query
  /// rows.
  bool chose = false;

  bool decoding() const { return pass.phase == Phase::kDecode; }
  // The following functions are for groups of passes that are computed together. No pass of the
  // group may have Pass::discard.
  /// Returns whether this is the combined step of several passes (LayerStep::all).
  bool of_several() const { return passes > 1; }
  /// Returns whether this step contains the last row of the group of passes.
  bool ends_together() const { return begin + rows == together_begin + together_rows; }
  /// Returns the part of `numbers` that belongs to this step's rows. `numbers` has an equal number
  /// of elements for each row of the group of passes.
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

  /// Returns the rows of q from absolute position `position` on.
  View<const float> q_from(int64_t position) const;
  /// Returns the RoPE frequencies of the layer, scaled by the plan's NTK factor (See::stretch).
  const RopeTable& rope() const;
  /// rotations() returns the RoPE rotations of the absolute positions [first, first + count). They
  /// are computed once for a group of passes. list_rotations() returns the rotations of positions
  /// [0, end), for keys whose position is their index in the list. The result of each function is
  /// valid until the function is called again.
  const Rotations& rotations(int64_t first, int64_t count) const;
  const Rotations& list_rotations(int64_t end) const;
  /// Rotates the queries `from` (rows of q) to positions `position`, `position` + 1, ...,
  /// multiplies them by the layer's query weights (ModelShape::query_weights), and writes them to
  /// `to`.
  void turn_queries(const Rotations& rotations, int64_t position, View<const float> from,
                    View<float> to) const;
  /// Returns q rotated to its absolute positions. The rotation runs at most once per step.
  View<const float> rotated_q();
  /// Returns the memory for the rotated queries. The caller must write all of q there, rotated to
  /// its absolute positions. rotated_q() then returns this memory without another rotation.
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

  /// Copies of lists in a form that the device reads faster than the store
  /// (attention/parts/sparse_prefill.cc). There is one element per list. The element has no pages
  /// if its list has no copy. If the span is empty, no list has a copy.
  std::span<const PagedRows> copies;
  /// Returns the copy of a list if there is one, otherwise the stored rows of the list.
  PagedRows rows_of(int list) const;
  /// Returns the index of the list whose stored rows or copy are `read`. Returns nothing if there
  /// is none.
  std::optional<int> list_of(const PagedRows& read) const;

  /// Returns a key segment with all rows of a list, including the rows of this step. Row i is at
  /// position i. Visibility is causal, and limited to the model's own sliding window if the layer
  /// has one. The list must not have evicted rows, so that row i is token i.
  KeySegment all_keys(int list) const;
  /// Returns attention tasks for the query rows [first, first + count): for each KV head that
  /// `only` selects, a task over all_keys() of the head. The result is valid until the next call.
  std::span<const AttendTask> over_all_keys(int first, int count);
  /// Computes the attention of the first `count` query rows over all_keys(), as dense attention
  /// does.
  void attend_all_keys(int count);

  /// Returns rows_of() for every list of the layer. The result is valid until the next call.
  std::span<const PagedRows> lists();

  /// Makes attend() write lse, so that the step can be observed. Call it before attend().
  void keep_lse();

  /// Returns an attention call, for attention or for an observation. `queries` holds one or more
  /// versions of q, [rows, heads, head_dim], with different rotations. Each key segment names the
  /// version that it uses (KeySegment::query). The caller sets the outputs of the call.
  AttendCall call(std::span<const View<const float>> queries,
                  const Rotations* rotations = nullptr) const;

  /// Computes the attention of all query rows. `segments` holds `per_list` key segments for each
  /// list. The query heads are split into contiguous groups of equal size, and group i attends to
  /// the segments of list i. Query row 0 is at `position`, or at `begin` if `position` is not
  /// given. The number of rows of a segment may be known only on the device
  /// (KeySegment::device_count).
  void attend(std::span<const View<const float>> queries, std::span<KeySegment> segments,
              int per_list, const Rotations* rotations = nullptr,
              std::optional<int64_t> position = {});
  /// Computes the attention that is described by `tasks`. `stay` promises that the arguments and
  /// their segments stay unchanged until the batch of the step has run. They are then not copied.
  void attend(std::span<const View<const float>> queries, std::span<const AttendTask> tasks,
              const Rotations* rotations = nullptr, bool stay = false);

  /// Buffers that all layers of a pass use. The decoder owns them.
  struct Workspace {
    PerRope<StretchedRope> stretched;  ///< RoPE frequencies scaled by See::stretch
    /// Rotations of the absolute positions of the group of passes.
    PerRope<RotationBuffer> rotations;
    /// Rotations for list_rotations(), with the RoPE table from which they were computed.
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
  /// If set, attend() adds its tasks to this batch instead of computing them. The batch is computed
  /// after Method::attend() has returned. The method may therefore read `out` and `lse` only in
  /// observe() and choose().
  AttendBatch* batch = nullptr;
  /// If set, new keys and values are added to this batch instead of being stored at once. The batch
  /// is run before Method::attend().
  AppendBatch* appends = nullptr;
  /// If set, evictions after generated tokens are added to this batch if they can run together with
  /// those of other sequences. The batch is run after AttentionDriver::end_attend() of all
  /// sequences.
  EvictionBatch* evictions = nullptr;
  /// Memory for rotated_q() in an array that all sequences of a batch share. If the view is empty,
  /// rotated_q() uses the workspace.
  View<float> rotated_q_room;
  /// If set, attend() computes the tasks of one group of query heads after another and calls this
  /// function after each group. If a task has few rows, attend() computes all tasks at once. The
  /// results are the same in both cases.
  const std::function<void()>* between_heads = nullptr;

 private:
  void weigh(View<float> queries) const;
  void attend_by_heads(const AttendCall& call, std::span<const AttendTask> tasks) const;

  bool has_rotated_q_ = false;
  View<float> list_q_;  ///< queries that are rotated to list positions from list_position_ on
  int64_t list_position_ = 0;
};

}  // namespace longhaul
