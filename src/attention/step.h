#pragma once
// One layer of one pass over a prompt, or of one generated token, in the form that a method
// receives.

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

/// A prompt before it is read.
struct PromptFacts {
  int64_t begin = 0;        ///< length of the context before the prompt
  int64_t tokens = 0;       ///< number of new tokens
  int64_t instruction = 0;  ///< length of the instruction at the end; 0: not known
  int chunk = 0;            ///< cap on the rows of a pass, or of a batch of passes
  /// Tokens of the context, ascending, that look-ups of blocks must include in addition to their
  /// selection (MethodInfo::looks_up). Other methods ignore it. It is for analyses, and forecasts
  /// do not include it.
  std::span<const int64_t> evidence = {};
};

/// The kind of rows in a pass.
enum class Phase : uint8_t { kPrompt, kInstruction, kDecode };

/// One forward pass over `count` of the prompt's new tokens. The keeping passes cover the new
/// tokens once, in order. The last pass is one of them and yields the logits of the next token. A
/// discarding pass reads tokens early or once more, and its rows are removed from its stream in
/// every layer after its attention. If each of several adjacent discarding passes begins where the
/// one before ended, their rows are removed together, after the last of them.
///
/// Adjacent passes are computed together as far as the chunk allows (passes_together()). Each layer
/// multiplies the rows of all of them at once. It then attends pass by pass, after the shared work
/// if the plan has any (MethodPlan::begins_together). The work of a pass in a layer may therefore
/// depend on that layer in earlier passes and on earlier layers of its own pass, and on nothing
/// else.
struct Pass {
  int64_t begin = 0;  ///< 0 is the first new token, at position PromptFacts::begin
  int64_t count = 0;
  int stream = 0;  ///< index of the KV store that it reads and writes
  bool discard = false;
  Phase phase = Phase::kPrompt;
  bool last = false;       ///< it ends the prompt
  int64_t taken_back = 0;  ///< number of discarded rows that leave its stream after it
  int also_to = -1;        ///< another stream that receives its keys and values; -1: none

  int64_t end() const { return begin + count; }
};

/// The inputs of attention over a layer's lists, which observations use again.
struct Attended {
  View<const float> queries;             ///< [rows, heads, head_dim], rotated
  const Rotations* rotations = nullptr;  ///< rotations of keys that are stored raw
  int64_t position = 0;                  ///< position of row 0
};

class LayerStep;

/// Receives the tasks of every attention call before they run (analyses, tests). The step is that
/// of a pass, or of all rows that are computed together (LayerStep::all). A row may attend in
/// several calls.
using AttentionObserver = std::function<void(const LayerStep&, std::span<const AttendTask>)>;

/// Counts of one sequence's attention since it began, and its observer.
struct AttentionRecord {
  int64_t pairs = 0;        ///< (row, query head, key) triples computed on the host
  Array<int64_t> counted;   ///< [1] on a device: triples counted there
  int64_t dense_pairs = 0;  ///< triples that dense attention would have computed (causal_pairs.h)
  double seconds = 0;       ///< seconds in attend()
  AttentionObserver observer;

  View<int64_t> counted_pairs(Queue& on);  ///< the device's counter, which a call increments
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
  View<float> lse;                  ///< [rows, heads]; attend() fills it if it is not empty
  std::span<const int32_t> tokens;  ///< ids of the rows; empty if unknown
  const ModelShape* shape = nullptr;
  Pass pass;
  int passes = 1;              ///< number of passes whose rows it has; above 1 in `all` only
  int nth_pass = 0;            ///< among the passes that are computed together
  int64_t together_begin = 0;  ///< position of the first row that they keep
  int64_t together_rows = 0;   ///< number of rows that they keep, which are adjacent
  int64_t prompt_end = 0;      ///< position after the last token of the prompt
  KvStore* store = nullptr;    ///< the pass's stream
  std::span<KvStore> streams;  ///< all streams
  const MethodPlan* method = nullptr;
  std::span<const ListPlan> plans;  ///< per KV head of the layer
  /// With MethodPlan::begins_together, in the first of the passes that are computed together: one
  /// step with all their rows, as if they were one pass. Its `out` may be filled in advance.
  LayerStep* all = nullptr;
  /// KV heads that attend; empty: all. Another part of the method attends the others.
  std::span<const uint8_t> only;
  AttendCompute compute = AttendCompute::kBest;
  /// Whether the rows have already seen other keys, whose softmax in `out` and `lse` is continued
  /// (AttendCall::joins). The model's sink logits are then included already.
  bool joins = false;
  bool chose = false;  ///< set if later rows influenced a selection that rows saw

  bool decoding() const { return pass.phase == Phase::kDecode; }
  // Functions for passes that are computed together and discard nothing:
  /// Whether the step has the rows of several passes (LayerStep::all).
  bool of_several() const { return passes > 1; }
  /// Whether it is the last of these passes.
  bool ends_together() const { return begin + rows == together_begin + together_rows; }
  /// The step's part of the values of all their rows.
  template <class T>
  View<T> part_of_all(View<T> numbers) const {
    const int64_t width = numbers.size() / together_rows;
    return numbers.part((begin - together_begin) * width, rows * width);
  }
  int head_dim() const { return shape->dim_of(layer); }
  int group() const { return shape->heads / kv_heads; }  ///< query heads that share a KV head
  int64_t own_window() const { return shape->own_window(layer); }
  bool attends(int kv_head) const { return only.empty() || nth(only, kv_head) != 0; }

  /// q of the rows from `position` on.
  View<const float> q_from(int64_t position) const;
  /// The model's frequencies in the layer, stretched according to its plan.
  const RopeTable& rope() const;
  /// Rotations at positions [first, first + count), computed once for all passes of the batch, and
  /// rotations for a list of `end` rows. Valid until the next call of the same kind.
  const Rotations& rotations(int64_t first, int64_t count) const;
  const Rotations& list_rotations(int64_t end) const;
  /// q rotated at its absolute positions. Computed once per layer, on demand.
  View<const float> rotated_q();
  /// The memory that rotated_q() returns from now on. The caller writes all rotated queries there.
  View<float> take_rotated_q();
  /// q rotated into `into`, for methods with other positions: row r at position + r, or all rows at
  /// one position.
  View<const float> queries_from(const Rotations& rotations, int64_t position,
                                 Array<float>& into) const;
  View<const float> queries_at(const Rotations& rotations, int64_t position,
                               Array<float>& into) const;

  /// Copies of whole lists, which the queue's device reads faster than the store. A copy without
  /// pages means that its list has none. Empty: no copies (attention/parts/gathered_lists.h).
  std::span<const PagedRows> copies;
  /// The rows of a list, in the form that is fastest to read.
  PagedRows rows_of(int list) const;
  /// The list to which the rows, or their copy, belong.
  std::optional<int> list_of(const PagedRows& read) const;

  /// All rows of a list (after the append), with row i at position i, causal and within the model's
  /// own sliding window. It is for lists without evictions, in which row i is token i.
  KeySegment all_keys(int list) const;
  /// Rows [first, first + count) of the KV heads that attend, over all_keys(). Valid until the next
  /// call.
  std::span<const AttendTask> over_all_keys(int first, int count);
  /// Attends the first `count` rows in this way, with keys at absolute positions, whatever the plan
  /// is.
  void attend_all_keys(int count);

  /// The rows of every list of the layer. Valid until the next call.
  std::span<const PagedRows> lists();

  /// Stores lse in the workspace for observations. Call it before attend().
  void keep_lse();

  /// The arguments of the step's attention or of its observations. `queries` are forms of [rows,
  /// heads, head_dim]; the caller sets the outputs.
  AttendCall call(std::span<const View<const float>> queries,
                  const Rotations* rotations = nullptr) const;

  /// Attention of all rows. `segments` holds `per_list` segments for each list, and contiguous
  /// groups of query heads use one list each. Row 0 is at `position` for visibility, or at `begin`
  /// without it. Counts may be available only on the device (KeySegment::live).
  void attend(std::span<const View<const float>> queries, std::span<KeySegment> segments,
              int per_list, const Rotations* rotations = nullptr,
              std::optional<int64_t> position = {});
  /// Attention by tasks that the method creates.
  void attend(std::span<const View<const float>> queries, std::span<const AttendTask> tasks,
              const Rotations* rotations = nullptr);

  /// Memory that the layers of a pass share. It belongs to the decoder.
  struct Workspace {
    PerRope<StretchedRope> stretched;   ///< stretched frequencies
    PerRope<RotationBuffer> rotations;  ///< for the rows that are computed together
    /// For positions in a list, with the table that they were taken for.
    PerRope<std::pair<RopeTable, std::shared_ptr<RotationBuffer>>> in_list;
    /// Gives equal tables one buffer. The workspaces of a batch share it.
    std::shared_ptr<SharedRotations> list_tables = std::make_shared<SharedRotations>();
    Array<float> rotated_q, rotated_k, list_q, lse;
    Attended attended;  ///< by the plan (attention/parts/planned_attention.h)
    std::vector<PagedRows> lists;
    std::vector<KeySegment> segments;
    std::vector<AttendTask> tasks;
    std::vector<ColumnTarget> targets, observed_targets;
    Array<float> unused;  ///< results that no caller uses
  };
  Workspace* workspace = nullptr;
  AttentionRecord* record = nullptr;  ///< counts of the sequence
  /// If set, attend() adds its tasks to this batch, which runs after the method's attend() has
  /// returned. The method may then read `out` and `lse` only in observe() and choose().
  AttendBatch* batch = nullptr;
  /// If set, keys are added to this batch, which runs before the method's attend().
  AppendBatch* appends = nullptr;
  /// In a batch: the place of the rows' rotated queries among those of all rows. Empty: memory of
  /// the workspace.
  View<float> rotated_q_room;
  /// If set, attend() of many rows runs the tasks of one set of query heads at a time and calls
  /// this function after each. The results do not change.
  const std::function<void()>* between_heads = nullptr;

 private:
  void attend_by_heads(const AttendCall& call, std::span<const AttendTask> tasks) const;

  bool has_rotated_q_ = false;
};

}  // namespace longhaul
