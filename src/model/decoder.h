#pragma once
// The forward pass of one chunk through all layers. Knows the model's arithmetic, not which
// attention method runs.

#include <cstdint>
#include <memory>
#include <span>

#include "attention/method.h"
#include "model/model.h"
#include "ops/linear.h"

namespace longhaul {

class Decoder {
 public:
  Decoder(const Model& model, Compute compute);
  ~Decoder();

  /// Reads `tokens` at positions position, position + 1, ... Keys and values go where the method
  /// puts them. Returns the hidden states after the last layer, [rows, hidden] f32, valid until the
  /// next call.
  const float* forward(std::span<const int32_t> tokens, int64_t position, bool decoding,
                       AttentionMethod& method, KvStore& store);

  /// Logits of hidden states: out [rows, vocab]. Applies the final norm.
  void logits(const float* hidden, int64_t rows, float* out);

  /// Bytes of activations that a chunk of `rows` needs, expanded weights included.
  static size_t working_bytes(const Model& model, int64_t rows, Compute compute);

  const LayerStep::Workspace& workspace() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
