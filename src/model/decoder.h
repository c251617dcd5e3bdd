#pragma once
// Decoder computes forward passes of tokens through all layers of a model. It contains the
// arithmetic of the model and buffers for activations, but no state of a sequence. It works with
// any attention method (AttentionDriver). A row is the activations of one token.

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

  /// Returns the tokens of `prompt` that `pass` processes. The first token of the prompt is at
  /// position `begin`.
  static ForwardPass of(std::span<const int32_t> prompt, int64_t begin, const Pass& pass) {
    return {prompt.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count)),
            begin + pass.begin, pass};
  }
  int64_t rows() const { return std::ssize(tokens); }
};

/// The input of a forward pass for one sequence: a group of passes that are computed together, in
/// order (attention/step.h). Each layer multiplies its weights by the rows of all these passes at
/// once. The layer then calls AttentionDriver::begin_layer() once and computes attention for one
/// pass after the other. All pointers must be set, except that `recurrent` may be null for a model
/// without recurrent layers. Several SequenceRows form a batch. They may have different numbers of
/// rows.
struct SequenceRows {
  std::span<const ForwardPass> passes;
  std::span<KvStore> streams;  ///< the KV stores of the sequence
  AttentionDriver* method = nullptr;
  const ModelShape* shape = nullptr;  ///< shape of the model, with the RoPE angles of this sequence
  AttentionRecord* record = nullptr;
  /// State of the recurrent layers; may be null if there are none.
  RecurrentState* recurrent = nullptr;
  /// In a batch, forward() sets this to the exception that the sequence's method has thrown. The
  /// sequence is then skipped in later layers, and its KV stores are invalid.
  std::exception_ptr failed = nullptr;

  int64_t rows() const;
};

/// Selects which logits of one row are computed and written to host memory: all logits, the highest
/// logits, or both.
struct WantedLogits {
  float* all = nullptr;       ///< output [vocab]; null: not requested
  std::span<BestLogit> best;  ///< output: the highest logits; empty: not requested
  LogitRules rules;           ///< how logits are changed before the highest ones are selected
  LogitSums* sums = nullptr;  ///< output with `best`: sums over all logits
};

/// The highest logits of rows, which a device may still be choosing (Decoder::begin_logits).
struct ChosenLogits {
  size_t of_row = 0;            ///< number of logits of each row; 0: not requested
  std::vector<BestLogit> best;  ///< [rows, of_row]
  std::vector<LogitSums> sums;
  uint64_t event = 0;  ///< event after which the device has chosen them; 0: they are complete
};

/// A function that is called within layers, for layers that take long.
struct InsideLayer {
  bool active = false;  ///< whether `yield` is called; may be changed between two layers
  std::function<void()> yield;
};

struct ForwardOptions {
  /// Called between two layers with the number of finished layers. If it returns false, the forward
  /// pass stops.
  std::function<bool(int layers)> go_on;
  /// If `inside` is active, inside->yield is called between the matrix multiplications of a layer,
  /// and between the KV heads of its attention.
  const InsideLayer* inside = nullptr;
  /// If true, forward() returns only the hidden state of each sequence's last row. In the last
  /// layer, the decoder then computes nothing but keys and values for the other rows.
  bool last_state = false;
};

/// Call it before a prompt. Computes the RoPE angles in `shape` for a context of `tokens` tokens if
/// the model's RoPE scaling depends on the context length (dynamic NTK, longrope).
void set_context_length(const Model& model, int64_t tokens, ModelShape& shape);

class Decoder {
 public:
  /// Largest number of decode rows that a device computes together. If there are more than
  /// DeviceInput::kMostDecodeRows, they are multiplied like prefill rows.
  static constexpr int64_t kMostBatchRows = 256;

  /// Creates a decoder on the host. `model` must outlive it.
  Decoder(const Model& model, Compute compute);
  /// Creates a decoder on the device that holds the weights. If several devices share the model,
  /// each device (rank) has a decoder for its heads, and all ranks must call forward() at the same
  /// time.
  Decoder(std::shared_ptr<const DeviceModel> model, Compute compute);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  /// Sets the model for the next forward passes. It must differ from the previous model only in its
  /// adapters. The buffers for activations remain.
  void use(const Model& model);
  void use(std::shared_ptr<const DeviceModel> model);

  /// Computes all layers for the tokens of each pass, and stores their keys and values in the KV
  /// stores. Returns the hidden states after the last layer, [rows, hidden] f32, on the device or
  /// host of the decoder. With ForwardOptions::last_state, returns only the states of each
  /// sequence's last row. The states are valid until the next call. Returns null if
  /// ForwardOptions::go_on stopped the pass. In this case only some layers have stored keys and
  /// values.
  ///
  /// A batch of several sequences runs on the host or on one device, and not on several devices.
  /// All its rows are treated as decode rows (RowKind). On the host, the results of a row are
  /// therefore bitwise equal in every batch. On a device they are equal up to rounding. If the
  /// method of a sequence throws, SequenceRows::failed is set, the results of this sequence are
  /// undefined, and the other sequences continue. If there is only one sequence, forward() throws
  /// instead.
  const float* forward(std::span<SequenceRows> batch, const ForwardOptions& how = {});
  const float* forward(SequenceRows one, const ForwardOptions& how = {}) {
    return forward(std::span<SequenceRows>(&one, 1), how);
  }

  /// Computes the logits for hidden states that forward() returned, including the final norm.
  /// Writes out [rows, vocab] in host memory. If several devices share the model, only rank 0
  /// writes valid logits.
  void logits(const float* hidden, int64_t rows, float* out);
  /// Writes the requested logits of each row in two halves. begin_logits() does not wait for a
  /// device unless all logits of a row are requested. Other passes may be computed between the two.
  /// end_logits() writes the requested highest logits. They cannot be used if several devices share
  /// the model.
  void begin_logits(const float* hidden, std::span<const WantedLogits> rows, ChosenLogits& chosen);
  void end_logits(std::span<const WantedLogits> rows, const ChosenLogits& chosen);

  /// Returns the size in bytes of the buffers on the host for `rows` rows that are computed
  /// together, including expanded weights.
  static size_t working_bytes(const Model& model, int64_t rows, Compute compute);
  /// Returns the size in bytes of the buffers on a device, for sequences with at most `keys` keys
  /// per KV head. If several devices share the model, `model` must be the part of this device
  /// (DeviceModel::model()).
  static size_t device_working_bytes(const Model& model, int64_t rows, int64_t keys,
                                     Compute compute);

 private:
  struct State;
  struct HostState;
  struct DeviceState;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
