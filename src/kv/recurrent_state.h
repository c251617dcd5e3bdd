#pragma once
// The state of one sequence's recurrent layers, and copies of it at earlier tokens, because a state
// cannot go back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kv/state_numbers.h"
#include "ops/delta/delta_shape.h"

namespace longhaul {

class ByteReader;
class ByteWriter;

/// Tokens between two stored states by default (SessionOptions::state_every).
inline constexpr int64_t kStateEvery = 2048;

class RecurrentState {
 public:
  /// The state of a model without recurrent layers.
  RecurrentState() = default;
  /// Zeros, in the memory of the queue's place. A copy of the state is stored there about every
  /// `every` tokens and at the end of each prompt; 0: never.
  RecurrentState(const DeltaShape& shape, int layers, int64_t every, const Queue& queue = {});

  bool empty() const { return layers_ == 0; }
  int64_t tokens() const { return tokens_; }  ///< tokens that the state has seen

  /// The memory from and to which a layer copies its state (DeltaShape::state() numbers).
  struct Step {
    View<const float> before;
    View<float> after;
  };
  /// The memory for `rows` rows of a layer at `position`. Rows that a pass discards start from the
  /// present state, or continue the discarded rows right before them, and do not change it. The
  /// state of other rows counts after commit().
  Step advance(int layer, int64_t position, int64_t rows, bool discard);
  /// Makes the states that advance() has written the present ones, once all layers are done.
  void commit();
  /// Stores the present state as that of the end of a prompt, in the place of the last prompt's.
  void end_prompt();
  /// Forgets what advance() has written since the last commit().
  void drop() { pending_.assign(pending_.size(), 0); }

  /// Returns to the last stored state of at most `tokens` tokens. Returns the number of its tokens;
  /// 0: there is none, and the state is zeros.
  int64_t rewind(int64_t tokens);

  /// A state with the same contents, which shares stored states.
  RecurrentState clone() const;

  size_t bytes() const;
  size_t own_bytes() const;  ///< without stored states that have other owners
  /// Most bytes while a context grows to `tokens` tokens.
  size_t most_bytes_of(int64_t tokens) const;

  /// Saves to and restores from a session file of `tokens` tokens. restore() throws UserError if
  /// the file is invalid; the state is undefined then.
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
  StateNumbers now_, next_, aside_;  ///< aside_: of discarded rows; allocated when needed
  std::vector<uint8_t> pending_;     ///< per layer: next_ holds the state
  std::vector<int64_t> aside_end_;   ///< per layer: end of the discarded rows; -1: none
  std::vector<Stored> stored_;       ///< by tokens, ascending
};

}  // namespace longhaul
