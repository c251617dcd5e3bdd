#pragma once
// The part that computes: a decoder with its buffers for activations, on the host, on a device or
// on each device of a team. It has no state of a sequence between two calls, so any number of
// sequences with the same engine, queue and compute can share it. A runner is used by one thread at
// a time. While one runner is between two layers of a prompt (Prefill::step's yield hook), other
// runners may compute other sequences.

#include <cstdint>
#include <exception>
#include <memory>
#include <span>

#include "engine/sequence.h"
#include "ops/core/best_logits.h"

namespace longhaul {

/// One sequence of a batched decode step.
struct DecodeRow {
  Sequence* sequence = nullptr;
  int32_t token = 0;  ///< the generated token to read
  /// Set by decode() if this sequence failed. A full context or an unknown token (UserError) leaves
  /// the sequence unchanged; after any other exception it is empty.
  std::exception_ptr failed = nullptr;
  /// If it is not empty, decode() writes the best of the next token's logits here, after the rules,
  /// and no logits into the sequence: on a device, those of many rows are slow to copy.
  std::span<BestLogit> best = {};
  LogitRules rules = {};
  LogitSums sums = {};
};

class ModelRunner {
 public:
  /// Sequences of a batch whose rows are computed together; a longer batch is divided.
  static constexpr int64_t kMostRows = 64;

  /// Throws UserError if the device has no room for the weights or does not support `compute`.
  ModelRunner(std::shared_ptr<const Engine> engine, const Queue& queue, Compute compute);
  ~ModelRunner();
  ModelRunner(ModelRunner&&) noexcept;

  const Queue& queue() const;

  /// Most bytes of a runner (of each member of a team) that computes up to `rows` rows together for
  /// sequences with up to `keys` keys per KV head.
  static size_t working_bytes(const Engine& engine, const Queue& queue, Compute compute,
                              int64_t rows, int64_t keys);

  /// Reads one generated token. Afterwards sequence.logits() are those of the next token. Throws
  /// UserError if the context is full (SessionOptions::context), without changes. After any other
  /// exception the sequence is empty.
  void decode(Sequence& sequence, int32_t token);

  /// Reads one generated token into each of several different sequences. On the host each sequence
  /// gets the same bits as from decode() alone, whatever else the batch holds, and on a device the
  /// same values up to rounding. The failure of one sequence does not affect the others. On a team
  /// of devices the sequences are computed one after another.
  void decode(std::span<DecodeRow> batch);

 private:
  friend class Prefill;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
