#pragma once
// Decoder::State declares the steps of a forward pass as virtual functions, and holds the
// activations. decoder.cc calls the steps in the same order on the host and on devices. HostState
// (host_decoder.h) implements them for the host, and DeviceState (device_decoder.h) for devices. A
// sublayer is the attention, the recurrent part or the feed-forward part of a layer.

#include <memory>
#include <span>
#include <vector>

#include "attention/eviction_batch.h"
#include "base/array.h"
#include "model/decoder.h"
#include "ops/delta/delta_mix.h"

namespace longhaul {

/// The destination of a sublayer's output, y [rows, hidden]. The output overwrites y, or is added
/// to y if `add` is true.
struct PartOutput {
  View<float> y;
  bool add = false;
};

struct Decoder::State {
  State(const Model& m, Compute c, Queue on) : used(&m), compute(c), queue(std::move(on)) {}
  virtual ~State() = default;

  /// Implements Decoder::forward().
  const float* forward(std::span<SequenceRows> batch, const ForwardOptions& how);
  void logits(const float* hidden, int64_t count, float* out);
  void begin_logits(const float* hidden, std::span<const WantedLogits> wanted,
                    ChosenLogits& chosen);
  /// Computes logits [count, vocab], in the memory of the queue's device or of the host. On the
  /// host they are written to `out` if it is not null.
  virtual View<float> head(const float* hidden, int64_t count, float* out) = 0;

  // The following functions are the steps. The input of a sublayer is the result of the last
  // normalise().
  /// Writes the embeddings of the tokens to the residual stream.
  virtual void embed(std::span<const int32_t> tokens) = 0;
  /// Normalises the residual stream, or copies it if the model does not have this norm. The result
  /// becomes the input of the following sublayer.
  virtual void normalise(int layer, RowNorm norm) = 0;
  /// Makes the result of the last normalise() the input of another sublayer
  /// (ModelConfig::parallel).
  virtual void normalise_again() = 0;
  virtual void project(int layer, int kv_heads) = 0;  ///< computes q, k and v
  /// Normalises each head of q and k in place.
  virtual void normalise_heads(int layer, int kv_heads) = 0;
  /// Changes the order of the elements of q and k. In the file's order, the two elements that RoPE
  /// rotates as a pair are adjacent. After this function, they are half the rotary width apart, as
  /// the RoPE code requires.
  virtual void split_pairs(int kv_heads) = 0;
  /// Multiplies the queries of `count` rows by factors that depend on their positions
  /// (QueryGrowth). The first row is at `position`.
  virtual void grow_queries(View<float> queries, int64_t count, int64_t position,
                            const QueryGrowth& growth) = 0;
  /// Multiplies `mixed` by the output gates that project() has computed.
  virtual void gate_output() = 0;
  /// Multiplies the input of a recurrent part by its input matrices.
  virtual void project_recurrent(int layer) = 0;
  /// Computes the recurrence of a recurrent part for the rows of the tasks, updates the states, and
  /// writes the results to `mixed`.
  virtual void mix_recurrent(int layer, std::span<const RecurrentTask> tasks) = 0;
  /// Multiplies `mixed` by the output matrix of attention, or of the recurrent part if `recurrent`
  /// is true.
  virtual void project_back(int layer, bool recurrent, const PartOutput& y) = 0;
  virtual void feed(int layer, const PartOutput& y) = 0;  ///< computes the feed-forward network
  /// Selects the experts of each row, and computes the weighted sum of their outputs.
  virtual void mix_experts(int layer, const PartOutput& y) = 0;
  /// Computes the shared expert and the experts, for models in which both have norms of their own
  /// (ModelConfig::experts_apart).
  virtual void feed_apart(int layer, const PartOutput& y) = 0;
  /// Ends a layer of a model with per-layer embeddings: adds the layer's embedding to the residual
  /// stream, and scales the stream (ModelConfig::layer_input).
  virtual void end_layer(int layer) = 0;
  /// Moves the per-layer embedding of row `from` to row `to`.
  virtual void move_layer_input(int layer, int64_t from, int64_t to) = 0;
  /// Normalises the output in `sublayer` if the model has this norm, and adds `scale` times the
  /// result to the residual stream.
  virtual void add_sublayer(int layer, RowNorm norm, float scale) = 0;

  const Model& model() const { return *used; }

  const Model* used;  ///< the model of the current forward pass
  Compute compute;
  Queue queue;
  std::vector<std::unique_ptr<LayerStep::Workspace>> workspaces;  ///< one per sequence of a batch
  std::vector<LayerStep> steps;                                   ///< one per sequence of a batch
  /// Attention, appended rows and evictions of the sequences of a batch, which are computed
  /// together.
  AttendBatch gathered;
  AppendBatch appended;
  EvictionBatch evictions;
  Array<float> rotated_q, lse;  ///< arrays for all rows of a batch, on a device
  Array<float> result;          ///< logits [rows, vocab]
  std::vector<LogitRules> rules;
  int64_t rows = 0;                     ///< number of rows that are computed together
  const InsideLayer* inside = nullptr;  ///< callback of the current forward pass
  /// Whether the forward pass has several sequences. All rows are then treated as decode rows.
  bool in_batch = false;
  Array<float> stream;  ///< [rows, hidden] residual stream
  /// q and mixed (the output of attention) are [rows, heads * head_dim]. k and v have kv_heads
  /// instead of heads.
  Array<float> q, k, v, mixed;
  /// Per layer: its new keys and values, if later layers use them too (ModelConfig::kv_layer).
  struct LentRows {
    Array<float> k, v;
  };
  std::vector<LentRows> lent;
  std::vector<RecurrentTask> recurrent_tasks;  ///< tasks of the current recurrent layer
  Array<float> sublayer;                ///< [rows, hidden] output of a sublayer for add_sublayer()
  std::span<const int32_t> all_tokens;  ///< token ids of the rows
  std::vector<int32_t> ids;             ///< memory of all_tokens if there are several passes

 private:
  void attention(int layer, std::span<SequenceRows> batch, bool last_rows);
  void attend_all(int layer, std::span<SequenceRows> batch);
  void lend_or_borrow(int layer);
  void recur(int layer, std::span<SequenceRows> batch);
  void add_mixed(int layer, bool recurrent);
  std::span<const int32_t> tokens_of(std::span<const SequenceRows> batch);
  void set_common(int layer, int kv_heads, const SequenceRows& all, size_t slot, LayerStep& step);
  void attend(int layer, int kv_heads, const SequenceRows& all, int64_t first, size_t slot);
  void attend_batch(int layer, int kv_heads, std::span<SequenceRows> batch);
  void begin_step(int layer, int kv_heads, SequenceRows& of, int64_t first, size_t slot);
  template <class Work>
  void for_each_step(std::span<SequenceRows> batch, Work&& work);
  void grow_queries(int layer, std::span<const SequenceRows> batch);
  void set_pass(int64_t first, const ForwardPass& pass, LayerStep& step);
  void yield() const {
    if (inside != nullptr && inside->active) inside->yield();
  }
  void keep_last_rows(std::span<const SequenceRows> batch, bool mixes);
  void feed_forward(int layer);
  template <class Part>
  void add_part(int layer, RowNorm after, float scale, Part&& part);
};

}  // namespace longhaul
