#pragma once
// The forward pass of some tokens through all layers. A decoder has the model's arithmetic and the
// buffers for the activations, but no state of a sequence. It does not depend on the attention
// methods.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>

#include "attention/driver.h"
#include "kv/recurrent_state.h"
#include "model/model.h"
#include "ops/core/best_logits.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class DeviceModel;

/// The tokens of one pass.
struct ForwardPass {
  std::span<const int32_t> tokens;
  int64_t position = 0;  ///< position of the first token
  Pass pass;

  /// A pass of a prompt whose first token is at position `begin`.
  static ForwardPass of(std::span<const int32_t> prompt, int64_t begin, const Pass& pass) {
    return {prompt.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count)),
            begin + pass.begin, pass};
  }
  int64_t rows() const { return std::ssize(tokens); }
};

/// The rows of one sequence in a forward pass: passes that are computed together (Pass), in order.
/// Each layer multiplies the rows of all of them at once, so that weights are read once, and
/// attends pass by pass, after AttentionDriver::begin_layer() has run for all of them. All pointers
/// must be set, except `recurrent` for a model without recurrent layers. Several sequences together
/// are a ragged batch.
struct SequenceRows {
  std::span<const ForwardPass> passes;
  std::span<KvStore> streams;  ///< store of the sequence
  AttentionDriver* method = nullptr;
  const ModelShape* shape = nullptr;  ///< with the RoPE angles of the sequence
  AttentionRecord* record = nullptr;
  RecurrentState* recurrent =
      nullptr;  ///< state of the recurrent layers; may be null if there are none
  /// In a batch: the exception that the sequence's method threw. The sequence is left out of all
  /// layers after that, and its store is in no valid state.
  std::exception_ptr failed = nullptr;

  int64_t rows() const;
};

/// Logits of one row for the host: all of them, or the best.
struct WantedLogits {
  float* all = nullptr;  ///< [vocab]; null: not wanted
  std::span<BestLogit> best;
  LogitRules rules;           ///< for `best`
  LogitSums* sums = nullptr;  ///< set if `best` is wanted
};

/// A callback within layers, for layers that take long.
struct InsideLayer {
  bool active = false;  ///< may change between two layers
  std::function<void()> yield;
};

struct ForwardOptions {
  /// Called between two layers with the number of layers that are done. If it returns false, the
  /// forward pass is given up.
  std::function<bool(int layers)> go_on;
  /// While it is active, its function is called between the products of a layer and between the KV
  /// heads of its attention.
  const InsideLayer* inside = nullptr;
  /// Whether the caller needs only the state of each sequence's last row. The last layer then
  /// computes the other rows only as far as their keys and values.
  bool last_state = false;
};

/// Gives `shape` the RoPE angles of a context of `tokens` tokens, if the model's scaling depends on
/// the length (dynamic NTK, longrope). Call it before a prompt.
void set_context_length(const Model& model, int64_t tokens, ModelShape& shape);

class Decoder {
 public:
  /// `model` must outlive the decoder.
  Decoder(const Model& model, Compute compute);
  /// Runs on the device with the model's weights. Each member of a team computes its heads, and all
  /// members call forward() together.
  Decoder(std::shared_ptr<const DeviceModel> model, Compute compute);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  /// Reads each pass's tokens at positions position, position + 1, ... The method stores keys and
  /// values. Returns the hidden states after the last layer, in the memory of the model: [rows,
  /// hidden] f32, or those of each sequence's last row (ForwardOptions::last_state). They are valid
  /// until the next call. Returns null if the forward pass was given up: some layers hold the rows
  /// then, others do not. A batch of several sequences runs on the host or on one device, not in a
  /// team. Its rows are multiplied as decode rows (RowKind). On the host a row gives the same bits
  /// as in any other batch, on a device the same values up to rounding. If a method throws, its
  /// sequence is marked (SequenceRows::failed), and the others continue; its rows of the result are
  /// undefined. A single sequence throws instead.
  const float* forward(std::span<SequenceRows> batch, const ForwardOptions& how = {});
  const float* forward(SequenceRows one, const ForwardOptions& how = {}) {
    return forward(std::span<SequenceRows>(&one, 1), how);
  }

  /// Logits of hidden states that forward() returned: out [rows, vocab], on the host. Applies the
  /// final norm. In a team only the leader's are valid.
  void logits(const float* hidden, int64_t rows, float* out);
  /// Writes what is wanted of the logits of each row. Not for teams.
  void logits(const float* hidden, std::span<const WantedLogits> rows);

  /// Returns the bytes of activations that a chunk of `rows` needs, including expanded weights.
  static size_t working_bytes(const Model& model, int64_t rows, Compute compute);
  /// Bytes on a device, for a member of a team those of its part (DeviceModel::model()), with at
  /// most `keys` keys of a KV head.
  static size_t device_working_bytes(const Model& model, int64_t rows, int64_t keys,
                                     Compute compute);

 private:
  struct State;
  struct HostState;
  struct DeviceState;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
