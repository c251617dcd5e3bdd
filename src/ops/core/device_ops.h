#pragma once
// The operations that a device has itself. Each has the shapes and the result of the host operation
// of its name, whose views and pages are then the device's; false means that it does not have it
// for these arguments, and the host does it on copies (base/host_stage.h), which costs a wait. So a
// new backend begins with DeviceQueue alone and takes operations over one by one.

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
#include "ops/core/compute.h"
#include "ops/core/swiglu.h"
#include "ops/grad/attention_backward.h"
#include "ops/maps/column_sums.h"
#include "ops/maps/expected_attention.h"
#include "ops/maps/line_sums.h"
#include "ops/maps/tile_map.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

/// A weight matrix [rows, cols] in a device's memory, in the form that it multiplies best.
class DeviceMatrix {
 public:
  virtual ~DeviceMatrix() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t bytes() const = 0;  ///< of device memory
};

/// Rows [rows, cols] that matrices multiply, in the forms that a device's products read best: made
/// once for all products of a sublayer, its memory reused by the next.
class DeviceInput {
 public:
  virtual ~DeviceInput() = default;
};

/// y [rows, outputs] = x W^T (+ bias), or y += x W^T.
struct DeviceLinear {
  const DeviceMatrix* weight = nullptr;
  View<float> y;
  View<const float> bias;  ///< [outputs]; empty: none
  bool add = false;
  bool exact = false;  ///< in bf16 at least, whatever the input is for
};

/// The experts of a layer (ops/matmul/experts.h): the matrices of a role lie one below the other.
struct DeviceExperts {
  struct Role {
    const DeviceMatrix* weight = nullptr;
    View<const float> bias;  ///< one number a row of `weight`; empty: none
  };
  int count = 0, used = 0;   ///< all, and of them by each row
  bool among_chosen = true;  ///< weights are the softmax over the chosen ones
  Gating gating;
  Role gate, up;  ///< [count * ffn, hidden]
  Role down;      ///< [count * hidden, ffn]
};

/// Rows that are appended to every list of a layer: KV head h feeds lists
/// [h * lists / kv_heads, (h + 1) * lists / kv_heads).
struct DeviceAppend {
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
  int64_t rows = 0;
  int kv_heads = 0;
  std::span<const PagedRows> lists;      ///< with pages for the new rows
  std::span<const int64_t> first;        ///< per list: the first new row
  const Rotations* rotations = nullptr;  ///< null: keys stay as they are
  int64_t position = 0;                  ///< at which row 0 is rotated, each row one further
  /// Queries [rows, heads, head_dim] that are rotated as the keys are; may be empty.
  View<const float> q;
  View<float> rotated_q;
};

/// Row i of `to`, whose pages are others, becomes row rows[i] of `from`; rows are ascending.
struct KeptRows {
  PagedRows from;
  View<const int32_t> rows;
  PagedRows to;
};

/// Number i of 4 bytes at `to` becomes number rows[i] of the `listed` ones at `from`, which may be
/// the same address, or rows[i] + behind past their end; rows are ascending. Where it is the same,
/// what of the listed ones lies behind those that stay becomes zeros.
struct KeptNumbers {
  View<const int32_t> rows;
  const void* from = nullptr;
  void* to = nullptr;
  int64_t listed = 0, behind = 0;
};

/// Lists that share a budget (ops/choose/select_rows.h).
struct DealtRows {
  std::span<const View<const float>> scores;
  RowsToKeep ends;  ///< of every list
  int64_t sure = 0;
  int64_t left = 0;     ///< rows that stay beside what is sure and the ends, of all lists
  View<float> scratch;  ///< a number for every row between the ends
  std::span<const View<int32_t>> rows;  ///< with room for all that may stay
  View<int32_t> counts;                 ///< [lists]
};

/// A vote (ops/choose/votes.h). What is counted with is zeros, and so again afterwards.
struct DeviceVote {
  View<const int32_t> votes;
  int64_t numbers = 0, k = 0;
  View<int32_t> counters;  ///< [numbers] zeros
  View<int32_t> marks;     ///< [numbers / 32, rounded up] zeros
  View<int32_t> voted;     ///< [1] zero
  View<int32_t> found;     ///< [min(numbers, votes)] scratch
  View<int32_t> rows;      ///< [min(k, numbers, votes)]: the result
  View<int32_t> count;     ///< [1]: of it
};

/// Spans around rows (ops/choose/votes.h).
struct DeviceSpans {
  RowList chosen;
  int64_t end = 0;
  View<int32_t> rows;   ///< [min(end, chosen * span)]: the result
  View<int32_t> count;  ///< [1]: of it
};

class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  // Attention: ops/attention/attention.h and what goes over the same softmax maps.
  virtual bool attend(const AttendCall&, std::span<const AttendTask>) { return false; }
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
  /// Copies rows [0, keys) of lists to where attention and what goes over its maps read them
  /// fastest, for `rows` query rows, of each head apart, that read each list: of as many lists,
  /// from the first on, as there is room for. Returns how many; 0: they are best read as they lie.
  /// Copies stay until other keys are gathered, which attend() and top_keys() do as well.
  virtual int gather_lists(std::span<const PagedRows> /*lists*/, int64_t /*keys*/, int64_t /*rows*/,
                           std::span<PagedRows> /*to*/) {
    return 0;
  }
  virtual bool top_keys(const TopKeysCall&, std::span<const TopKeysTask>) { return false; }
  virtual bool mean_keys(const PagedRows&, int64_t /*count*/, int /*block*/, View<float>) {
    return false;
  }
  /// Adds to `moments`, which have room where the device is, and begins with them where they have
  /// no rows yet; the caller counts rows.
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
  /// cosine, sine [count, rotary_dim / 2] of positions from `first` on.
  virtual bool rotations(const RopeTable&, int64_t /*first*/, int64_t /*count*/,
                         View<float> /*cosine*/, View<float> /*sine*/) {
    return false;
  }
  /// Row r at position + r * step.
  virtual bool rotate(const Rotations&, int64_t /*position*/, int64_t /*step*/, View<const float>,
                      int64_t /*rows*/, int /*heads*/, int /*head_dim*/, View<float>) {
    return false;
  }

  // Choices.
  virtual bool fill(View<float>, float) { return false; }
  virtual bool add_lists(View<const float>, View<float>) { return false; }
  virtual bool mean_rows(View<const float>, View<float>) { return false; }
  virtual bool pool_scores(View<const float>, int /*width*/, Pooling, View<float>) { return false; }
  virtual bool add_seen(int64_t /*rows*/, std::span<const View<float>>) { return false; }
  /// The rows of every list that stay, ascending, to rows[l] [keep.count]; lists have more rows
  /// than stay.
  virtual bool select_rows(std::span<const View<const float>> /*scores*/, const RowsToKeep&,
                           std::span<const View<int32_t>> /*rows*/) {
    return false;
  }
  virtual bool deal_rows(const DealtRows&) { return false; }
  virtual bool steady_scores(std::span<const SteadyList>) { return false; }
  /// Whether it has the next two.
  virtual bool judges_rules() const { return false; }
  /// The verdict of each list to `verdicts` [lists, 2]: rule and rows.
  virtual void judge_rules(const HybridRules&, std::span<const JudgedList>,
                           View<int32_t> /*verdicts*/) {}
  /// The rows that stay of lists whose rules are known, to rows[l], which has room for just them.
  virtual void list_rules(const HybridRules&, std::span<const JudgedList>,
                          std::span<const View<int32_t>> /*rows*/) {}

  virtual bool most_voted(std::span<const DeviceVote>) { return false; }
  virtual bool expand_spans(std::span<const DeviceSpans>, int64_t /*span*/, int64_t /*first*/) {
    return false;
  }

  /// Writes what the tasks' `chosen` have room for.
  virtual bool choose_lines(std::span<const LineTask>, int /*tile*/) { return false; }
  virtual bool list_tile_keys(int /*tile*/, int /*page_rows*/, std::span<const DeviceTile>) {
    return false;
  }
  /// Whether attend() takes masks of these rows' pages (KeySegment::masks).
  virtual bool reads_masks(const PagedRows&) const { return false; }
  /// Where it does: copies columns until the next call (false: there is no room), lists pages.
  virtual bool copy_columns(std::span<CopiedColumns>) { return false; }
  virtual void list_tile_pages(std::span<const TilePages>) {}

  virtual bool choose_flex_blocks(const TiledRows&, const FlexRule&, std::span<const FlexHead>) {
    return false;
  }
  /// What choose_antidiagonal_blocks() does beside block_mass(): a device has all of it or nothing.
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
  /// The score of every block, of which `scores` has as many.
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
  /// Writes what SpanMeans holds, which has the sizes.
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
  virtual bool add_weight(View<const int32_t> /*chosen*/, float, View<float> /*weights*/) {
    return false;
  }
  /// The rows with the largest weights, ascending; there are more weights than rows.
  virtual bool most_weighted(View<const float> /*weights*/, View<const float> /*scores*/,
                             View<int32_t> /*rows*/) {
    return false;
  }

  // Rows of the KV store: kv/kv_store.h.
  virtual bool append(const DeviceAppend&) { return false; }
  virtual bool keep_rows(std::span<const KeptRows>, std::span<const KeptNumbers>) { return false; }

  // The model.
  /// Matrices of one type and one width, one below the other. Null: it has no form for the type.
  virtual std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView>) {
    return nullptr;
  }
  /// Many rows will be multiplied in this form. Throws UserError where the device has none such.
  virtual std::unique_ptr<DeviceInput> input(Compute = Compute::kBest) { return nullptr; }
  /// The input's rows times several matrices.
  virtual void linear(const DeviceInput&, std::span<const DeviceLinear>) {}
  /// x [tokens, cols] of the table's rows, times `scale`.
  virtual void embed(const DeviceMatrix& /*table*/, std::span<const int32_t> /*tokens*/,
                     float /*scale*/, View<float>) {}
  /// Of one head: of whole rows.
  virtual void rms_norm_heads(View<float> /*x*/, View<const float> /*weight*/, float /*eps*/,
                              int64_t /*rows*/, int /*heads*/, int /*head_dim*/) {}
  virtual void grow_queries(View<float> /*q*/, int64_t /*rows*/, int64_t /*n*/, int64_t /*first*/,
                            const QueryGrowth&) {}
  /// x [rows, n] += scale * y, of which each row is normalised before, unless `weight` is empty.
  virtual void add_scaled(View<const float> /*y*/, View<const float> /*weight*/, float /*eps*/,
                          float /*scale*/, int64_t /*rows*/, int64_t /*n*/, View<float> /*x*/) {}
  virtual void scale_and_cap(View<float> /*x*/, float /*scale*/, float /*cap*/) {}
  /// y [rows, hidden] = what the experts make of the input's rows, or added to y. `logits` [rows,
  /// count] choose among them.
  virtual void mix_experts(const DeviceInput&, View<const float> /*logits*/, const DeviceExperts&,
                           View<float> /*y*/, bool /*add*/) {}

  // Gradients, for training/.
  /// dx [rows, cols] = dy W of the rows [rows, outputs] that were taken, or added to dx.
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

  // What makes an input of rows [rows, n]. The rows x stay as they are until the input's last
  // product: it may be they that are multiplied, and not what was made of them here. Weights, those
  // of a norm too, may be read before what was queued last has ended.
  virtual void rms_norm(View<const float> /*x*/, View<const float> /*weight*/, float /*eps*/,
                        int64_t /*rows*/, int64_t /*n*/, DeviceInput&) {}
  virtual void swiglu(View<const float> /*gate*/, View<const float> /*up*/, const Gating&,
                      int64_t /*rows*/, int64_t /*n*/, DeviceInput&) {}
  virtual void take(View<const float> /*x*/, int64_t /*rows*/, int64_t /*n*/, DeviceInput&) {}
  /// swiglu() of the products of x's rows with two matrices that have no bias. Of many rows what
  /// these make needs no more than bf16 on its way, which is half of what goes to memory and back;
  /// of one it never leaves the product's kernel. `gate_room` and `up_room` have room for
  /// [x.rows(), gate.rows()] f32, and are the input's. False where linear() and swiglu() do as
  /// well.
  virtual bool gated_products(const DeviceInput& /*x*/, const DeviceMatrix& /*gate*/,
                              const DeviceMatrix& /*up*/, const Gating&, View<float> /*gate_room*/,
                              View<float> /*up_room*/, DeviceInput&) {
    return false;
  }
};

/// Null on the host.
inline DeviceOps* device_ops(const Queue& queue) {
  return queue.on_host() ? nullptr : &queue.device().ops();
}

}  // namespace longhaul
