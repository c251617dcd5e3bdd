#pragma once
// ModelRunner runs a model: it holds a decoder and the buffers for activations. It runs on the
// host, on one device, or on several devices that share the model's heads. A runner keeps no state
// of a sequence between two calls. All sequences with the same queue and compute type can therefore
// share it, if their engines are the same or differ only in adapters (Engine::with_adapters). Only
// one thread may use a runner at a time. While a runner is between two layers of a prompt (`yield`
// in Prefill::step), other runners may compute other sequences.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>

#include "engine/sequence.h"
#include "ops/core/best_logits.h"

namespace longhaul {

/// One sequence in a batch of a decode step.
struct DecodeRow {
  Sequence* sequence = nullptr;
  int32_t token = 0;  ///< the generated token to process
  /// decode() sets this if the sequence failed. If the context is full or the token is unknown
  /// (UserError), the sequence is unchanged. After any other exception the sequence is empty.
  std::exception_ptr failed = nullptr;
  /// If `best` is not empty, decode() applies `rules` to the logits and writes the highest ones
  /// here, best first. It then writes no logits into the sequence. On a device this is faster,
  /// because all other logits need not be copied to the host.
  std::span<BestLogit> best = {};
  LogitRules rules = {};  ///< how logits are changed before the highest ones are selected
  LogitSums sums = {};    ///< output: sums over all logits
};

class ModelRunner {
 public:
  /// Usual largest number of sequences whose rows are computed together. decode() divides a longer
  /// batch.
  static constexpr int64_t kMostRows = 64;
  /// Returns the largest number of rows that are computed together if there are up to `sequences`
  /// sequences. Devices compute more rows together than the host.
  static int64_t most_rows(const Queue& queue, int64_t sequences);

  /// Throws UserError if the device has no memory for the weights or does not support `compute`.
  /// `most_rows` is a result of most_rows().
  ModelRunner(std::shared_ptr<const Engine> engine, const Queue& queue, Compute compute,
              int64_t most_rows = kMostRows);
  ~ModelRunner();
  ModelRunner(ModelRunner&&) noexcept;

  const Queue& queue() const;

  /// Returns the peak size in bytes of a runner's buffers on each device, while it computes up to
  /// `rows` tokens together for sequences with up to `keys` keys per KV head.
  static size_t working_bytes(const Engine& engine, const Queue& queue, Compute compute,
                              int64_t rows, int64_t keys);

  /// Processes one generated token of a sequence. Afterwards, sequence.logits() are the logits of
  /// the next token. Throws UserError if the context is full (SessionOptions::context); the
  /// sequence is then unchanged. After any other exception the sequence is empty.
  void decode(Sequence& sequence, int32_t token);

  /// Processes one generated token of each sequence in the batch. All sequences must be different.
  /// On the host the results are bitwise equal to those of decode() with one sequence. On a device
  /// they are equal up to rounding. Sequences with the same adapters are computed together, and the
  /// sets of adapters one after another. If one sequence fails, the others are not affected. If
  /// several devices share the model, the sequences are computed one after another.
  ///
  /// `before_choice` is called on this thread, once or several times, when the layers have been
  /// started and before the rules of a row are used. The masks may be written until it returns. It
  /// is not called if the layers fail. It must not throw.
  void decode(std::span<DecodeRow> batch, const std::function<void()>& before_choice = {}) {
    begin_decode(batch, before_choice);
    end_decode();
  }
  /// The two halves of decode(). begin_decode() returns while a device still computes, if every row
  /// sets DecodeRow::best. The rows and their sequences must not be used or changed before
  /// end_decode(). This gives the caller time for other work, and a long batch is not interrupted
  /// by waits.
  void begin_decode(std::span<DecodeRow> batch, const std::function<void()>& before_choice = {});
  void end_decode();

 private:
  friend class Prefill;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
