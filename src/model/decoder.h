#pragma once
// The forward passes of some tokens through all layers. Knows the model's arithmetic, not which
// attention method runs.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "attention/driver.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class DeviceModel;

/// What one pass reads.
struct ForwardPass {
  std::span<const int32_t> tokens;
  int64_t position = 0;  ///< of the first token
  Pass pass;

  /// Of a prompt whose first token stands at `begin`.
  static ForwardPass of(std::span<const int32_t> prompt, int64_t begin, const Pass& pass) {
    return {prompt.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count)),
            begin + pass.begin, pass};
  }
  int64_t rows() const { return std::ssize(tokens); }
};

/// Passes that are computed together (Pass), in their order: each layer multiplies the rows of all
/// of them at once, so that weights are read once, and attends pass by pass, behind what
/// Method::begin_layer() does for all of them.
struct ForwardPasses {
  std::span<const ForwardPass> passes;
  std::span<KvStore> streams;  ///< of the session
  /// Asked between two layers, with how many are done: false gives the passes up.
  std::function<bool(int layers)> go_on;
  /// Whether the state of the last row is all that is asked for: the last layer computes the others
  /// as far as their keys and what they see.
  bool last_state = false;

  int64_t rows() const;
};

/// Sees the tasks of an attention call before they run.
using AttentionObserver = decltype(LayerStep::Workspace::observer);

class Decoder {
 public:
  /// `model` must outlive the decoder.
  Decoder(const Model& model, Compute compute);
  /// On the device where the model's weights are; of a team's member with its heads, and all of the
  /// team call forward() together.
  Decoder(std::shared_ptr<const DeviceModel> model, Compute compute);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  /// The model as methods see it, with the angles in force.
  const ModelShape& shape() const;
  /// Angles for a context of `tokens` tokens, where the model's scaling depends on the length
  /// (dynamic NTK, longrope). Before a prompt.
  void set_context_length(int64_t tokens);

  /// Reads each pass's tokens at positions position, position + 1, ... Keys and values go where the
  /// method puts them. Returns the hidden states after the last layer, [rows, hidden] f32, or
  /// [hidden] of the last row (ForwardPasses::last_state), where the model is, valid until the next
  /// call; null where the passes were given up: some layers hold their rows then, others do not.
  const float* forward(const ForwardPasses& all, AttentionDriver& method);

  /// Logits of hidden states that forward() returned: out [rows, vocab], on the host. Applies the
  /// final norm. Of a team the leader's alone.
  void logits(const float* hidden, int64_t rows, float* out);

  /// Bytes of activations that a chunk of `rows` needs, expanded weights included.
  static size_t working_bytes(const Model& model, int64_t rows, Compute compute);
  /// The same on a device, of a team's member for the part that it has (DeviceModel::model()), with
  /// at most `keys` keys of a KV head.
  static size_t device_working_bytes(const Model& model, int64_t rows, int64_t keys,
                                     Compute compute);

  const LayerStep::Workspace& workspace() const;
  /// From now on called for every attention call, in the order of layers (analyses, tests).
  void observe(AttentionObserver observer);

 private:
  struct State;
  struct HostState;
  struct DeviceState;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
