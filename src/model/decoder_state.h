#pragma once
// What a decoder works with, and the order of its arithmetic (decoder.cc), which is the same
// everywhere. Its steps are virtual: the host's are in host_decoder.h, a device's in
// device_decoder.h.

#include <memory>
#include <span>
#include <vector>

#include "base/array.h"
#include "model/decoder.h"

namespace longhaul {

/// Where the last matrix of a layer's part writes: y [rows, hidden], or to what is there.
struct PartOutput {
  View<float> y;
  bool add = false;
};

struct Decoder::State {
  State(const Model& m, Compute c, Queue on) : model(m), compute(c), queue(std::move(on)) {}
  virtual ~State() = default;

  /// Returns null if the passes were given up.
  const float* forward(std::span<SequenceRows> batch, const ForwardOptions& how);
  virtual void logits(const float* hidden, int64_t count, float* out) = 0;

  // The steps. Each part of a layer reads what normalise() has made ready to be multiplied.
  virtual void embed(std::span<const int32_t> tokens) = 0;  ///< to the stream
  /// Of the residual stream, which is read as it is where the model has no such norm.
  virtual void normalise(int layer, RowNorm norm) = 0;
  virtual void project(int layer, int kv_heads) = 0;          ///< to q, k and v
  virtual void normalise_heads(int layer, int kv_heads) = 0;  ///< q and k, in place
  /// The pairs that rotate together, neighbours in the file's rows of Q and K, to half a rotation's
  /// width apart, in q and k.
  virtual void split_pairs(int kv_heads) = 0;
  /// Queries of `count` rows, of which the first stands at `position`.
  virtual void grow_queries(View<float> queries, int64_t count, int64_t position) = 0;
  virtual void project_back(int layer, const PartOutput& y) = 0;  ///< what attention wrote
  virtual void feed(int layer, const PartOutput& y) = 0;          ///< the gated network
  virtual void mix_experts(int layer, const PartOutput& y) = 0;   ///< or several of many
  /// Adds `sublayer` to the stream, normalised where the model has that norm, and scaled.
  virtual void add_sublayer(int layer, RowNorm norm) = 0;

  const Model& model;
  Compute compute;
  Queue queue;
  std::vector<std::unique_ptr<LayerStep::Workspace>> workspaces;  ///< by sequence of a batch
  std::vector<LayerStep> steps;                                   ///< the same
  AttendBatch gathered;
  int64_t rows = 0;                     ///< of all passes that are computed together
  const InsideLayer* inside = nullptr;  ///< of the forward pass
  bool in_batch = false;        ///< several sequences; their rows are multiplied by few at a time
  Array<float> stream;          ///< [rows, hidden] the residual stream
  Array<float> q, k, v, mixed;  ///< [rows, heads * head_dim], ...; mixed: what attention writes
  Array<float> sublayer;  ///< [rows, hidden] what a part writes, where that is not added as is
  std::span<const int32_t> all_tokens;  ///< of the rows
  std::vector<int32_t> ids;             ///< where they are of several passes

 private:
  void attention(int layer, std::span<SequenceRows> batch, bool last_rows);
  std::span<const int32_t> tokens_of(std::span<const SequenceRows> batch);
  LayerStep steps_of(int layer, int kv_heads, const SequenceRows& all, size_t slot);
  void attend(int layer, int kv_heads, const SequenceRows& all, int64_t first, size_t slot);
  void attend_batch(int layer, int kv_heads, std::span<SequenceRows> batch);
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
