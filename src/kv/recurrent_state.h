#pragma once
// RecurrentState holds the state of the recurrent layers of one sequence. The state after an
// earlier token cannot be computed from a later state, so the object also stores copies of the
// state after earlier tokens.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kv/state_numbers.h"

namespace longhaul {

class ByteReader;
class ByteWriter;

/// Default number of tokens between two stored copies (SessionOptions::state_every).
inline constexpr int64_t kStateEvery = 2048;

class RecurrentState {
 public:
  /// Creates the empty state of a model without recurrent layers.
  RecurrentState() = default;
  /// Creates a state of zeros in the memory of the queue's device or of the host. `layer_numbers`
  /// is the number of floats in the state of one layer (ModelConfig::layer_state()). A copy of the
  /// state is stored in the same memory about every `every` tokens, and at the end of each prompt.
  /// If `every` is 0, no copies are stored.
  RecurrentState(int64_t layer_numbers, int layers, int64_t every, const Queue& queue = {});

  bool empty() const { return layers_ == 0; }
  /// Returns the number of tokens that the state has processed.
  int64_t tokens() const { return tokens_; }

  /// The state of a layer before a pass, and the memory for its state after the pass. Each view has
  /// `layer_numbers` floats.
  struct Step {
    View<const float> before;
    View<float> after;
  };
  /// Returns the state and memory with which a layer processes `rows` rows from `position` on. If
  /// `discard` is false, commit() makes the new state the current state. If `discard` is true
  /// (Pass::discard), the current state does not change. Such rows start from the current state. If
  /// they follow other discarded rows that end at `position`, they start from the state after those
  /// rows instead.
  Step advance(int layer, int64_t position, int64_t rows, bool discard);
  /// Makes the new states that the layers have written the current state. Call it when all layers
  /// have been computed.
  void commit();
  /// Stores a copy of the current state, which is the state at the end of a prompt. Removes the
  /// copy that the previous prompt's end_prompt() stored.
  void end_prompt();
  /// Discards what the layers have written since the last commit().
  void drop() { pending_.assign(pending_.size(), 0); }

  /// Returns to a state after at most `tokens` tokens, and returns the number of tokens of this
  /// state. If the current state has processed more than `tokens` tokens, it is replaced by the
  /// latest stored copy that has not. If there is no such copy, the state becomes zeros and the
  /// result is 0.
  int64_t rewind(int64_t tokens);

  /// Returns a copy of this object. Both objects share the stored copies of earlier states.
  RecurrentState clone() const;

  /// Returns a state with the same contents in the memory of `queue`. It calls `add` for each array
  /// that the caller still has to copy. If twins are given, the first has the same place as this
  /// state, and the second has the same contents elsewhere; stored copies that this state shares
  /// with the first are then shared with the second.
  using AddCopy = std::function<void(const void* from, void* to, size_t bytes)>;
  RecurrentState elsewhere(const Queue& queue, const RecurrentState* twin_here,
                           const RecurrentState* twin_there, const AddCopy& add) const;

  size_t bytes() const;
  /// Returns the size in bytes, without stored copies that are shared with other objects.
  size_t own_bytes() const;
  /// Returns the peak size in bytes while a context grows to `tokens` tokens.
  size_t most_bytes_of(int64_t tokens) const;

  /// save() writes the state to a session file, and restore() reads it. `tokens` is the number of
  /// tokens of the context in the file. restore() throws UserError if the file is invalid; the
  /// state is then undefined.
  void save(ByteWriter& out) const;
  void restore(ByteReader& in, int64_t tokens);

 private:
  struct Stored {
    int64_t tokens = 0;
    bool prompt_end = false;
    std::shared_ptr<const StateNumbers> state;
  };
  View<float> of_layer(const StateNumbers& all, int layer) const;
  StateNumbers copy_of(const StateNumbers& state) const;
  std::vector<float> on_host(const StateNumbers& state) const;
  void store(bool prompt_end);

  Queue queue_;
  int64_t layer_numbers_ = 0;
  int layers_ = 0;
  int64_t every_ = 0;
  int64_t tokens_ = 0, pending_tokens_ = 0;
  StateNumbers now_, next_, aside_;  ///< aside_: states after discarded rows; allocated when needed
  std::vector<uint8_t> pending_;     ///< per layer: whether next_ holds a new state
  std::vector<int64_t> aside_end_;   ///< per layer: position after the discarded rows; -1: none
  std::vector<Stored> stored_;       ///< in ascending order of tokens
};

}  // namespace longhaul
