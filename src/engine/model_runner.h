#pragma once
// What computes: a decoder with its buffers for activations, on the host, on a device or on each
// device of a team. It has no state of a sequence between two calls, so any number of sequences
// with the same engine, queue and compute can share it. A runner is used by one thread at a time.
// While one runner is between two layers of a prompt (Prefill::step's yield hook), other runners
// may compute other sequences.

#include <cstdint>
#include <memory>

#include "engine/sequence.h"

namespace longhaul {

class ModelRunner {
 public:
  /// Throws UserError if the device has no room for the weights or cannot compute as `compute`
  /// says.
  ModelRunner(std::shared_ptr<const Engine> engine, const Queue& queue, Compute compute);
  ~ModelRunner();
  ModelRunner(ModelRunner&&) noexcept;

  const Queue& queue() const;

  /// Reads one generated token; sequence.logits() are then those of the next token. Throws
  /// UserError if the context is full (SessionOptions::context); nothing has changed then. After
  /// any other exception the sequence is empty.
  void decode(Sequence& sequence, int32_t token);

 private:
  friend class Prefill;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
