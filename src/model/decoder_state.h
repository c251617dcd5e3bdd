#pragma once
// The state of a decoder. decoder.cc defines the order of its steps, which is the same on the host
// and on devices. The steps are virtual functions. host_decoder.h has the steps on the host,
// device_decoder.h has the steps on a device.

#include <memory>
#include <span>
#include <vector>

#include "base/array.h"
#include "model/decoder.h"
#include "ops/delta/delta_mix.h"

namespace longhaul {

/// The output of a sublayer's last matrix: y [rows, hidden], which it overwrites or adds to.
struct PartOutput {
  View<float> y;
  bool add = false;
};

struct Decoder::State {
  State(const Model& m, Compute c, Queue on) : model(m), compute(c), queue(std::move(on)) {}
  virtual ~State() = default;

  /// Returns null if the passes were given up.
  const float* forward(std::span<SequenceRows> batch, const ForwardOptions& how);
  void logits(const float* hidden, int64_t count, float* out);
  void logits(const float* hidden, std::span<const WantedLogits> wanted);
  /// Logits [count, vocab], in the place of the queue. A host writes them to `out` unless it is
  /// null.
  virtual View<float> head(const float* hidden, int64_t count, float* out) = 0;

  // The steps. Each sublayer reads the output of normalise(), ready to be multiplied.
  virtual void embed(std::span<const int32_t> tokens) = 0;  ///< into the stream
  /// Normalises the residual stream, or copies it if the model has no such norm.
  virtual void normalise(int layer, RowNorm norm) = 0;
  /// Makes the output of the last normalise() the input of products again (ModelConfig::parallel).
  virtual void normalise_again() = 0;
  virtual void project(int layer, int kv_heads) = 0;          ///< to q, k and v
  virtual void normalise_heads(int layer, int kv_heads) = 0;  ///< q and k, in place
  /// Moves the rotary pairs of q and k, adjacent in the file's rows of Q and K, to half a
  /// rotation's width apart.
  virtual void split_pairs(int kv_heads) = 0;
  /// Scales the queries of `count` rows, the first at `position`.
  virtual void grow_queries(View<float> queries, int64_t count, int64_t position) = 0;
  virtual void gate_output() = 0;  ///< multiplies `mixed` by the gates that project() computed
  virtual void project_delta(int layer) = 0;  ///< the products of a gated delta net
  /// Computes rows in a gated delta net, into `mixed`.
  virtual void mix_delta(int layer, std::span<const DeltaTask> tasks) = 0;
  virtual void project_back(int layer, const PartOutput& y) = 0;  ///< the output projection
  virtual void feed(int layer, const PartOutput& y) = 0;          ///< the gated network
  virtual void mix_experts(int layer, const PartOutput& y) = 0;   ///< the experts of each row
  /// The network and the experts beside it, which have norms of their own.
  virtual void feed_apart(int layer, const PartOutput& y) = 0;
  /// Adds the layer's embedding to the stream and scales it (ModelConfig::layer_input).
  virtual void end_layer(int layer) = 0;
  virtual void move_layer_input(int layer, int64_t from, int64_t to) = 0;
  /// Adds `sublayer` to the stream, scaled, and normalised if the model has that norm.
  virtual void add_sublayer(int layer, RowNorm norm) = 0;

  const Model& model;
  Compute compute;
  Queue queue;
  std::vector<std::unique_ptr<LayerStep::Workspace>> workspaces;  ///< per sequence of a batch
  std::vector<LayerStep> steps;                                   ///< per sequence of a batch
  AttendBatch gathered;
  AppendBatch appended;
  Array<float> rotated_q, lse;  ///< all rows of a batch on a device
  Array<float> result;          ///< [rows, vocab]
  std::vector<LogitRules> rules;
  std::vector<BestLogit> best;
  std::vector<LogitSums> sums;
  int64_t rows = 0;                     ///< rows of all passes that are computed together
  const InsideLayer* inside = nullptr;  ///< callback of the forward pass
  bool in_batch = false;        ///< several sequences, whose rows are multiplied by few at a time
  Array<float> stream;          ///< [rows, hidden] residual stream
  Array<float> q, k, v, mixed;  ///< [rows, heads * head_dim], ...; mixed: output of attention
  /// Keys and values of a layer that later layers use too, per layer.
  struct LentRows {
    Array<float> k, v;
  };
  std::vector<LentRows> lent;
  std::vector<DeltaTask> delta_tasks;  ///< tasks of a layer
  Array<float> sublayer;  ///< [rows, hidden] output of a sublayer, if it is not added directly
  std::span<const int32_t> all_tokens;  ///< tokens of the rows
  std::vector<int32_t> ids;             ///< copy of the tokens if the rows are of several passes

 private:
  void attention(int layer, std::span<SequenceRows> batch, bool last_rows);
  void attend_all(int layer, std::span<SequenceRows> batch);
  void lend_or_borrow(int layer);
  void recur(int layer, std::span<SequenceRows> batch);
  std::span<const int32_t> tokens_of(std::span<const SequenceRows> batch);
  LayerStep steps_of(int layer, int kv_heads, const SequenceRows& all, size_t slot);
  void attend(int layer, int kv_heads, const SequenceRows& all, int64_t first, size_t slot);
  void attend_batch(int layer, int kv_heads, std::span<SequenceRows> batch);
  void begin_step(int layer, int kv_heads, SequenceRows& of, int64_t first, size_t slot);
  template <class Work>
  void for_each_step(std::span<SequenceRows> batch, Work&& work);
  void grow_queries(std::span<const SequenceRows> batch);
  LayerStep step_of(int64_t first, const ForwardPass& pass, LayerStep step);
  void yield() const {
    if (inside != nullptr && inside->active) inside->yield();
  }
  void keep_last_rows(std::span<const SequenceRows> batch);
  void feed_forward(int layer);
  template <class Part>
  void add_part(int layer, RowNorm after, Part&& part);
};

}  // namespace longhaul
