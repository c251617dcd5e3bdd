#pragma once
// The operations that a device implements. Each mirrors the host operation of the same name, on
// device memory. It returns false if the device does not support the arguments; the host then works
// on copies (base/host_stage.h), which costs a wait. A new backend can therefore begin with
// DeviceQueue alone and add operations one by one.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/float_types.h"
#include "base/tensor_view.h"
#include "ops/attention/attention.h"
#include "ops/attention/gate_mix.h"
#include "ops/attention/query_growth.h"
#include "ops/blocks/block_index.h"
#include "ops/blocks/block_representatives.h"
#include "ops/blocks/span_slots.h"
#include "ops/choose/antidiagonal_blocks.h"
#include "ops/choose/flex_blocks.h"
#include "ops/choose/hybrid_rules.h"
#include "ops/choose/mean_blocks.h"
#include "ops/choose/pool_scores.h"
#include "ops/choose/select_rows.h"
#include "ops/choose/steady_scores.h"
#include "ops/choose/tile_lists.h"
#include "ops/core/best_logits.h"
#include "ops/core/compute.h"
#include "ops/core/row_kind.h"
#include "ops/core/swiglu.h"
#include "ops/grad/attention_backward.h"
#include "ops/maps/column_sums.h"
#include "ops/maps/expected_attention.h"
#include "ops/maps/line_sums.h"
#include "ops/maps/tile_map.h"
#include "ops/maps/top_keys.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul {

/// A weight matrix [rows, cols] in device memory, in the format of the device's products.
class DeviceMatrix {
 public:
  virtual ~DeviceMatrix() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t bytes() const = 0;  ///< size in device memory
};

/// Input rows [rows, cols] of matrix products, in the formats of the device's products. They are
/// made once for all products of a sublayer, and their memory is reused by the next.
class DeviceInput {
 public:
  virtual ~DeviceInput() = default;
  /// From now on the input has rows of this kind. Up to kMostDecodeRows decode rows are multiplied
  /// by the weights as they are stored, prefill rows of such a number by expanded ones.
  virtual void set_row_kind(RowKind) {}
  static constexpr int64_t kMostDecodeRows = 64;
};

/// y [rows, outputs] = x W^T (+ bias), or y += x W^T.
struct DeviceLinear {
  const DeviceMatrix* weight = nullptr;
  View<float> y;
  View<const float> bias;  ///< [outputs]; empty: none
  bool add = false;
  bool exact = false;  ///< at least bf16 precision, whatever the input's precision
};

/// The experts of a layer (ops/matmul/experts.h). Per role, all experts' matrices are concatenated
/// by rows.
struct DeviceExperts {
  struct Role {
    const DeviceMatrix* weight = nullptr;
    View<const float> bias;  ///< one number per row of `weight`; empty: none
  };
  int count = 0, used = 0;  ///< number of experts, and number of experts used by each row
  ExpertRule rule;          ///< its bias lies on the device
  Gating gating;
  Role gate, up;  ///< [count * ffn, hidden]
  Role down;      ///< [count * hidden, ffn]
};

/// Rows of one sequence to append to every list of a layer. KV head h writes to lists
/// [h * lists / kv_heads, (h + 1) * lists / kv_heads).
struct DeviceAppend {
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
  int64_t rows = 0;
  int kv_heads = 0;
  std::span<const PagedRows> lists;      ///< including pages for the new rows
  std::span<const int64_t> first;        ///< per list: index of the first new row
  const Rotations* rotations = nullptr;  ///< null: keys are not rotated
  int64_t position = 0;  ///< rotation position of row 0; each later row is one further
  /// Queries [rows, heads, head_dim] to rotate like the keys; may be empty.
  View<const float> q;
  View<float> rotated_q;
};

/// Copies row rows[i] of `from` to row i of `to`, which has other pages. Rows are ascending.
struct KeptRows {
  PagedRows from;
  View<const int32_t> rows;
  PagedRows to;
};

/// Copies 4-byte values: value i of `to` becomes value rows[i] of the `listed` values at `from`, or
/// rows[i] + behind past their end. Rows are ascending. `to` may equal `from`; listed values after
/// the kept ones then become zeros.
struct KeptNumbers {
  View<const int32_t> rows;
  const void* from = nullptr;
  void* to = nullptr;
  int64_t listed = 0, behind = 0;
};

/// Lists that share a budget (ops/choose/select_rows.h).
struct DealtRows {
  std::span<const View<const float>> scores;
  RowsToKeep ends;  ///< sinks and recent rows of every list
  int64_t sure = 0;
  int64_t left = 0;                     ///< rows kept in all lists, beyond guaranteed ones and ends
  View<float> scratch;                  ///< one value for every row between the ends
  std::span<const View<int32_t>> rows;  ///< each with room for all rows that may be kept
  View<int32_t> counts;                 ///< [lists]
};

/// A vote (ops/choose/votes.h). Counters must be zeros and are zeros again afterwards.
struct DeviceVote {
  View<const int32_t> votes;
  int64_t numbers = 0, k = 0;
  View<int32_t> counters;  ///< [numbers] zeros
  View<int32_t> marks;     ///< [numbers / 32, rounded up] zeros
  View<int32_t> voted;     ///< [1], zero
  View<int32_t> found;     ///< [min(numbers, votes)] scratch
  View<int32_t> rows;      ///< [min(k, numbers, votes)]: result
  View<int32_t> count;     ///< [1]: length of the result
};

/// Spans around rows (ops/choose/votes.h).
struct DeviceSpans {
  RowList chosen;
  int64_t end = 0;
  View<int32_t> rows;   ///< [min(end, chosen * span)]: result
  View<int32_t> count;  ///< [1]: length of the result
};

class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  // Attention (ops/attention/attention.h) and operations over the same softmax maps.
  virtual bool attend(const AttendCall&, std::span<const AttendTask>) { return false; }
  /// Attention of several sequences, in one launch as far as possible. The keys of each are divided
  /// as if it were alone.
  virtual bool attend_all(std::span<const AttendJob>) { return false; }
  virtual bool column_sums(const AttendCall&, std::span<const AttendTask>,
                           std::span<const ColumnTarget>) {
    return false;
  }
  virtual bool line_sums(const AttendCall&, std::span<const AttendTask>,
                         std::span<const LineSums>) {
    return false;
  }
  virtual bool block_mass(const AttendCall&, std::span<const AttendTask>, int /*block*/,
                          std::span<const View<float>>) {
    return false;
  }
  virtual bool tile_maps(const AttendCall&, std::span<const MapTile>) { return false; }
  /// Copies rows [0, keys) of lists to memory where attention and map operations read them fastest,
  /// for `rows` query rows per head that read each list. Copies as many lists, beginning with the
  /// first, as fit. Returns their number; 0 means that they are best read in place. Copies are
  /// valid until other keys are gathered, which attend() and top_keys() also do.
  virtual int gather_lists(std::span<const PagedRows> /*lists*/, int64_t /*keys*/, int64_t /*rows*/,
                           std::span<PagedRows> /*to*/) {
    return 0;
  }
  virtual bool top_keys(const TopKeysCall&, std::span<const TopKeysTask>) { return false; }
  virtual bool mean_keys(const PagedRows&, int64_t /*count*/, int /*block*/, View<float>) {
    return false;
  }
  /// Adds to `moments`, whose arrays have room on the device, or initialises them if they have no
  /// rows yet. The caller counts rows.
  virtual bool add_query_moments(View<const float> /*q*/, int64_t /*rows*/, int /*heads*/,
                                 int /*head_dim*/, QueryMoments&) {
    return false;
  }
  virtual bool expected_attention(const ExpectedQueries&, const PagedRows&, int64_t /*first_row*/,
                                  int /*head_begin*/, int /*head_count*/, View<float> /*scores*/) {
    return false;
  }
  virtual bool key_difference(const PagedRows&, View<float>) { return false; }

  // Positions: ops/attention/rope.h.
  /// Computes cosine, sine [count, rotary_dim / 2] of positions from `first` on.
  virtual bool rotations(const RopeTable&, int64_t /*first*/, int64_t /*count*/,
                         View<float> /*cosine*/, View<float> /*sine*/) {
    return false;
  }
  /// Rotates row r to position `position` + r * step.
  virtual bool rotate(const Rotations&, int64_t /*position*/, int64_t /*step*/, View<const float>,
                      int64_t /*rows*/, int /*heads*/, int /*head_dim*/, View<float>) {
    return false;
  }

  // Selections.
  virtual bool fill(View<float>, float) { return false; }
  virtual bool add_lists(View<const float>, View<float>) { return false; }
  virtual bool mean_rows(View<const float>, View<float>) { return false; }
  virtual bool pool_scores(View<const float>, int /*width*/, Pooling, View<float>) { return false; }
  virtual bool add_seen(int64_t /*rows*/, std::span<const View<float>>) { return false; }
  /// Writes the kept rows of every list, ascending, to rows[l] [keep.count]. Lists have more rows
  /// than are kept.
  virtual bool select_rows(std::span<const View<const float>> /*scores*/, const RowsToKeep&,
                           std::span<const View<int32_t>> /*rows*/) {
    return false;
  }
  virtual bool deal_rows(const DealtRows&) { return false; }
  virtual bool steady_scores(std::span<const SteadyList>) { return false; }
  /// Returns whether the next two functions are implemented.
  virtual bool judges_rules() const { return false; }
  /// Writes the verdict on each list to `verdicts` [lists, 2]: rule and number of rows.
  virtual void judge_rules(const HybridRules&, std::span<const JudgedList>,
                           View<int32_t> /*verdicts*/) {}
  /// Writes the kept rows of lists with known rules to rows[l], which has exactly the right size.
  virtual void list_rules(const HybridRules&, std::span<const JudgedList>,
                          std::span<const View<int32_t>> /*rows*/) {}

  virtual bool most_voted(std::span<const DeviceVote>) { return false; }
  virtual bool expand_spans(std::span<const DeviceSpans>, int64_t /*span*/, int64_t /*first*/) {
    return false;
  }

  /// Writes to the tasks' `chosen`, which have room.
  virtual bool choose_lines(std::span<const LineTask>, int /*tile*/) { return false; }
  virtual bool list_tile_keys(int /*tile*/, int /*page_rows*/, std::span<const DeviceTile>) {
    return false;
  }
  /// Returns whether attend() supports masks for these rows' pages (KeySegment::masks).
  virtual bool reads_masks(const PagedRows&) const { return false; }
  /// For rows with masks: copies columns, valid until the next call (false: not enough room), and
  /// lists pages.
  virtual bool copy_columns(std::span<CopiedColumns>) { return false; }
  virtual void list_tile_pages(std::span<const TilePages>) {}

  virtual bool choose_flex_blocks(const TiledRows&, const FlexRule&, std::span<const FlexHead>) {
    return false;
  }
  /// The steps of choose_antidiagonal_blocks() besides block_mass(). A device implements all of
  /// them or none.
  virtual bool lay_out_groups(View<const float> /*q*/, int64_t /*groups*/, int /*stride*/,
                              int /*heads*/, int /*head_dim*/, View<uint8_t> /*rounded*/) {
    return false;
  }
  virtual void see_all_blocks(View<uint8_t> /*seen*/) {}
  virtual void choose_antidiagonals(const GroupMasses&, std::span<const AntidiagonalHeads>) {}

  virtual bool choose_mean_blocks(const TiledRows&, int64_t /*first*/,
                                  std::span<const MeanBlocks>) {
    return false;
  }

  // Blocks of old tokens: ops/blocks/key_vectors.h, block_index.h, block_representatives.h,
  // block_rows.h, sliding_rows.h.
  virtual bool store_vectors(View<const float>, DType, View<uint8_t> /*to*/) { return false; }
  /// Writes the score of every block to `scores`, of the same size.
  virtual bool block_scores(const BlockVectors&, View<const float> /*query*/,
                            View<float> /*scores*/) {
    return false;
  }
  virtual bool block_representatives(const RepresentativesCall&, View<float> /*out*/) {
    return false;
  }
  virtual bool block_rows(int64_t /*first*/, View<const int32_t> /*blocks*/, int64_t /*block*/,
                          int64_t /*begin*/, View<int32_t> /*rows*/) {
    return false;
  }
  virtual bool add_transposed(View<const float>, int64_t /*columns*/, View<float> /*to*/) {
    return false;
  }

  // Spans of blocks: ops/blocks/span_vectors.h, span_slots.h, block_votes.h.
  /// Writes the numbers of SpanTokens.
  virtual bool choose_span_tokens(const DividedTokens&, const SpanTokenRule&,
                                  View<int32_t> /*tokens*/) {
    return false;
  }
  virtual bool gather_span_keys(std::span<const PagedRows>, int64_t /*first*/, int /*block*/,
                                const SpanTokens&, View<float> /*keys*/) {
    return false;
  }
  /// Writes the contents of SpanMeans, whose sizes are set.
  virtual bool mean_of_spans(const SpanTokens&, View<const float> /*keys*/, SpanTokens& /*one*/,
                             View<float> /*means*/) {
    return false;
  }
  virtual bool span_queries(const SpanQueries&, int /*block*/, const SpanTokens&, const SomeBlocks&,
                            VectorList&) {
    return false;
  }
  virtual bool row_queries(const SpanQueries&, int64_t /*begin*/, int64_t /*end*/, VectorList&) {
    return false;
  }
  virtual bool subtract_row(View<const float> /*row*/, View<float> /*rows*/) { return false; }
  virtual bool span_scores(const SlottedSpans&, const VectorList& /*queries*/, SpanSimilarity,
                           View<float> /*scores*/) {
    return false;
  }
  /// The two parts of span_scores() for vectors that are divided over ranks, with products [blocks,
  /// rows, queries.most()]: the products of every row and query, and their maxima.
  virtual bool span_products(const SlottedSpans&, const VectorList& /*queries*/, SpanSimilarity,
                             View<float> /*products*/) {
    return false;
  }
  virtual bool best_products(const SlottedSpans&, const VectorList& /*queries*/, SpanSimilarity,
                             View<const float> /*products*/, View<float> /*scores*/) {
    return false;
  }
  virtual bool add_weight(View<const int32_t> /*chosen*/, float, View<float> /*weights*/) {
    return false;
  }
  /// Writes the rows with the largest weights in ascending order. There are more weights than rows.
  virtual bool most_weighted(View<const float> /*weights*/, View<const float> /*scores*/,
                             View<int32_t> /*rows*/) {
    return false;
  }

  // Rows of the KV store: kv/kv_store.h.
  virtual bool append(const DeviceAppend&) { return false; }
  /// Returns whether append_all() is implemented.
  virtual bool appends_together() const { return false; }
  /// Appends the rows of several sequences in one launch. All lists are stored in the same way.
  virtual void append_all(std::span<const DeviceAppend>) {}
  virtual bool keep_rows(std::span<const KeptRows>, std::span<const KeptNumbers>) { return false; }

  // The model.
  /// Concatenates matrices of one type and width by rows. Returns null if the type is not
  /// supported.
  virtual std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView>) {
    return nullptr;
  }
  /// `Compute` is the precision for prefill. Throws UserError if the device does not support it.
  virtual std::unique_ptr<DeviceInput> input(Compute = Compute::kBest) { return nullptr; }
  /// Multiplies the input's rows by several matrices.
  virtual void linear(const DeviceInput&, std::span<const DeviceLinear>) {}
  /// Writes the rows of the table for `tokens`, multiplied by `scale`, to x [tokens, cols].
  virtual void embed(const DeviceMatrix& /*table*/, std::span<const int32_t> /*tokens*/,
                     float /*scale*/, View<float>) {}
  /// With one head it normalises whole rows.
  virtual void rms_norm_heads(View<float> /*x*/, View<const float> /*weight*/, float /*eps*/,
                              int64_t /*rows*/, int /*heads*/, int /*head_dim*/) {}
  virtual void grow_queries(View<float> /*q*/, int64_t /*rows*/, int64_t /*n*/, int64_t /*first*/,
                            const QueryGrowth&) {}
  /// Adds scale * y to x [rows, n]. Each row of y is normalised first, unless `weight` is empty.
  virtual void add_scaled(View<const float> /*y*/, View<const float> /*weight*/, float /*eps*/,
                          float /*scale*/, int64_t /*rows*/, int64_t /*n*/, View<float> /*x*/) {}
  virtual void scale_and_cap(View<float> /*x*/, float /*scale*/, float /*cap*/) {}
  /// The best `k` of each row of logits [rules.size(), n]: `best` [rows, k] with one LogitSums per
  /// row in `sums` (ops/core/best_logits.h), all in host memory. Waits.
  virtual bool best_logits(View<float> /*logits*/, std::span<const LogitRules>, int /*k*/,
                           std::span<BestLogit> /*best*/, std::span<LogitSums> /*sums*/) {
    return false;
  }
  /// Writes the output of the experts for the input's rows to y [rows, hidden], or adds it to y.
  /// `logits` [rows, count] select the experts.
  virtual void mix_experts(const DeviceInput&, View<const float> /*logits*/, const DeviceExperts&,
                           View<float> /*y*/, bool /*add*/) {}

  // Gradients, for training/.
  /// Computes dx [rows, cols] = dy W for the input rows [rows, outputs], or adds it to dx.
  virtual bool linear_back(const DeviceInput& /*dy*/, const DeviceMatrix&, bool /*add*/,
                           View<float> /*dx*/) {
    return false;
  }
  virtual bool attention_backward(const TextAttention&, const AttentionTrace&, View<float> /*dq*/,
                                  View<float> /*dk*/, View<float> /*dv*/) {
    return false;
  }
  virtual std::optional<RegionSums> attention_regions(const TextAttention&, const AttentionTrace&,
                                                      const ProbedRegions&) {
    return std::nullopt;
  }
  virtual bool rms_norm_backward(View<const float> /*x*/, View<const float> /*weight*/,
                                 float /*eps*/, View<const float> /*dy*/, int64_t /*rows*/,
                                 int64_t /*n*/, View<float> /*dx*/, bool /*add*/) {
    return false;
  }
  virtual bool swiglu_backward(View<const float> /*gate*/, View<const float> /*up*/,
                               View<const float> /*dy*/, View<float> /*d_gate*/,
                               View<float> /*d_up*/) {
    return false;
  }
  virtual bool mix_gated(const GatedRows&, View<const float> /*gates*/, View<const float> /*full*/,
                         View<const float> /*near*/, View<float> /*out*/) {
    return false;
  }
  virtual bool scale_heads(const GatedRows&, View<const float> /*factors*/, View<const float> /*x*/,
                           View<float> /*out*/) {
    return false;
  }
  virtual bool add_gate_gradient(const GatedRows&, View<const float> /*d_mixed*/,
                                 View<const float> /*full*/, View<const float> /*near*/,
                                 View<float> /*sums*/) {
    return false;
  }

  // These functions fill an input of rows [rows, n]. x may be aliased: do not modify it before the
  // input's last product is queued. Weights, including those of a norm, may be read before earlier
  // queued work has ended.
  virtual void rms_norm(View<const float> /*x*/, View<const float> /*weight*/, float /*eps*/,
                        int64_t /*rows*/, int64_t /*n*/, DeviceInput&) {}
  virtual void swiglu(View<const float> /*gate*/, View<const float> /*up*/, const Gating&,
                      int64_t /*rows*/, int64_t /*n*/, DeviceInput&) {}
  virtual void take(View<const float> /*x*/, int64_t /*rows*/, int64_t /*n*/, DeviceInput&) {}
  /// swiglu() of the products of x's rows with two matrices without bias. For prefill the
  /// intermediate results are only bf16, which halves their memory traffic. For a single row they
  /// never leave the product's kernel. `gate_room` and `up_room` have room for [x.rows(),
  /// gate.rows()] f32 and belong to the input. Returns false if linear() and swiglu() are as fast.
  virtual bool gated_products(const DeviceInput& /*x*/, const DeviceMatrix& /*gate*/,
                              const DeviceMatrix& /*up*/, const Gating&, View<float> /*gate_room*/,
                              View<float> /*up_room*/, DeviceInput&) {
    return false;
  }
};

/// Returns the operations of the queue's device, or null on the host.
inline DeviceOps* device_ops(const Queue& queue) {
  return queue.on_host() ? nullptr : &queue.device().ops();
}

}  // namespace longhaul
