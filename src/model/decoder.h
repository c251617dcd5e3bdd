#pragma once
// Decoder computes the forward pass of some tokens through all layers. It contains the arithmetic
// of the model and buffers for activations, but no state of a sequence. It does not depend on the
// attention method.

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

  /// Returns a pass over a part of `prompt`. The first token of the prompt is at position `begin`.
  static ForwardPass of(std::span<const int32_t> prompt, int64_t begin, const Pass& pass) {
    return {prompt.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count)),
            begin + pass.begin, pass};
  }
  int64_t rows() const { return std::ssize(tokens); }
};

/// The rows of one sequence in a forward pass. It contains passes that are computed together
/// (Pass), in order. Each layer multiplies the rows of all these passes at once, so that weights
/// are read once. The layer then calls AttentionDriver::begin_layer() once and computes attention
/// for one pass after the other. All pointers must be set, except that `recurrent` may be null for
/// a model without recurrent layers. Several SequenceRows together form a batch, and may have
/// different numbers of rows.
struct SequenceRows {
  std::span<const ForwardPass> passes;
  std::span<KvStore> streams;  ///< the KV stores of the sequence
  AttentionDriver* method = nullptr;
  const ModelShape* shape = nullptr;  ///< shape of the model with the RoPE angles of this sequence
  AttentionRecord* record = nullptr;
  /// State of the recurrent layers; may be null if there are none.
  RecurrentState* recurrent = nullptr;
  /// In a batch: the exception that the sequence's method has thrown. The sequence is not computed
  /// in later layers, and its store is then invalid.
  std::exception_ptr failed = nullptr;

  int64_t rows() const;
};

/// Requests the logits of one row on the host: all logits, the highest ones, or both.
struct WantedLogits {
  float* all = nullptr;       ///< output [vocab]; null: not requested
  std::span<BestLogit> best;  ///< output: the highest logits; empty: not requested
  LogitRules rules;           ///< changes of logits before the highest ones are chosen
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
  bool active = false;  ///< whether `yield` is called; may change between two layers
  std::function<void()> yield;
};

struct ForwardOptions {
  /// The function is called between two layers with the number of finished layers. If it returns
  /// false, the forward pass stops.
  std::function<bool(int layers)> go_on;
  /// If `inside` is active, `yield` is called between the matrix multiplications of a layer, and
  /// between the KV heads of its attention.
  const InsideLayer* inside = nullptr;
  /// If true, only the hidden state of each sequence's last row is returned. In the last layer, the
  /// decoder then computes only keys and values for the other rows.
  bool last_state = false;
};

/// Sets the RoPE angles of `shape` for a context of `tokens` tokens, if the scaling of the model
/// depends on the length (dynamic NTK, longrope). Call it before a prompt.
void set_context_length(const Model& model, int64_t tokens, ModelShape& shape);

class Decoder {
 public:
  /// Largest number of decode rows that a device computes together. If there are more than
  /// DeviceInput::kMostDecodeRows, they are multiplied like prefill rows.
  static constexpr int64_t kMostBatchRows = 256;

  /// Creates a decoder on the host. `model` must outlive it.
  Decoder(const Model& model, Compute compute);
  /// Creates a decoder on the device that holds the weights. If several devices share the model,
  /// each rank computes its heads, and all ranks call forward() together.
  Decoder(std::shared_ptr<const DeviceModel> model, Compute compute);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  /// Uses another model from the next forward pass on. It must differ from the first one only in
  /// its adapters. The activations stay where they are, so sets of adapters share them.
  void use(const Model& model);
  void use(std::shared_ptr<const DeviceModel> model);

  /// Computes the tokens of each pass, at positions position, position + 1, .... The methods store
  /// keys and values. Returns the hidden states after the last layer, [rows, hidden] f32, in the
  /// memory of the weights. With ForwardOptions::last_state, it returns only the states of each
  /// sequence's last row. They are valid until the next call. Returns null if ForwardOptions::go_on
  /// stopped the pass; only some layers have then stored the rows.
  ///
  /// A batch of several sequences runs on the host or on one device, and not on several devices.
  /// Its rows are multiplied as decode rows (RowKind). On the host, the results of a row are
  /// bitwise equal in every batch. On a device they are equal up to rounding. If the method of a
  /// sequence throws, SequenceRows::failed is set, the results of this sequence are undefined, and
  /// the other sequences continue. If there is only one sequence, forward() throws instead.
  const float* forward(std::span<SequenceRows> batch, const ForwardOptions& how = {});
  const float* forward(SequenceRows one, const ForwardOptions& how = {}) {
    return forward(std::span<SequenceRows>(&one, 1), how);
  }

  /// Computes the logits of hidden states that forward() returned. Applies the final norm. Writes
  /// out [rows, vocab], on the host. If several devices share the model, only rank 0 writes valid
  /// logits.
  void logits(const float* hidden, int64_t rows, float* out);
  /// Writes the requested logits of each row. It cannot be used if several devices share the model.
  void logits(const float* hidden, std::span<const WantedLogits> rows) {
    begin_logits(hidden, rows, chosen_);
    end_logits(rows, chosen_);
  }
  /// The two halves of logits(). begin_logits() does not wait for a device unless all logits of a
  /// row are requested. Other passes may be computed between the two. end_logits() writes the
  /// requested highest logits.
  void begin_logits(const float* hidden, std::span<const WantedLogits> rows, ChosenLogits& chosen);
  void end_logits(std::span<const WantedLogits> rows, const ChosenLogits& chosen);

  /// Returns the bytes of activations for `rows` rows that are computed together, including
  /// expanded weights.
  static size_t working_bytes(const Model& model, int64_t rows, Compute compute);
  /// Returns the bytes of activations on a device, with at most `keys` keys per KV head. If several
  /// devices share the model, pass the part of this device (DeviceModel::model()).
  static size_t device_working_bytes(const Model& model, int64_t rows, int64_t keys,
                                     Compute compute);

 private:
  struct State;
  struct HostState;
  struct DeviceState;
  std::unique_ptr<State> state_;
  ChosenLogits chosen_;  ///< scratch memory of logits()
};

}  // namespace longhaul
