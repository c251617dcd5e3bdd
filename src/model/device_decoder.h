#pragma once
// A decoder's arithmetic on a device: the residual stream in f32, what is multiplied in the form
// that the device reads best.

#include <memory>

#include "model/decoder_state.h"
#include "model/device_model.h"

namespace longhaul {

struct Decoder::DeviceState : Decoder::State {
  DeviceState(std::shared_ptr<const DeviceModel> weights, Compute compute);

  void embed(std::span<const int32_t> tokens) override;
  Projected projected(int layer, int kv_heads) override;
  void add_attention(int layer) override;
  void feed_forward(int layer) override;
  const float* hidden() const override { return stream.view().address(); }
  void logits(const float* hidden, int64_t rows, float* out) override;

 private:
  /// One of several matrices that read the same rows.
  struct Job {
    const DeviceWeight& weight;
    View<float> y;
    bool add = false;
  };
  DeviceOps& ops() const { return queue.device().ops(); }
  /// The residual stream, normalised.
  const DeviceInput& normalised(const Array<float>& weight);
  void multiply(const DeviceInput& taken, int64_t rows, std::initializer_list<Job> jobs);

  std::shared_ptr<const DeviceModel> weights;
  Array<float> stream;          ///< [rows, hidden]
  Array<float> q, k, v, mixed;  ///< [rows, heads * head_dim], ...
  Array<float> gate, up;        ///< [rows, ffn]
  Array<float> low;             ///< [rows, rank]: of an adapter
  Array<float> result;          ///< [rows, vocab]
  /// What is multiplied: of a sublayer, of `down`, of an adapter's second matrix.
  std::unique_ptr<DeviceInput> input, inner, low_input;
};

}  // namespace longhaul
