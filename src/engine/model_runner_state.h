#pragma once
// Defines the private members of ModelRunner. Only the source files that implement ModelRunner
// include this header.

#include <memory>
#include <optional>
#include <vector>

#include "engine/model_runner.h"
#include "engine/team_crew.h"
#include "model/decoder.h"

namespace longhaul {

struct ModelRunner::State {
  State(std::shared_ptr<const Engine> e, const Queue& q, Compute compute);

  /// The rows of at most `most_rows` sequences of one engine that are computed together.
  struct Batch {
    std::span<DecodeRow* const> members;
    std::vector<ForwardPass> passes;
    std::vector<SequenceRows> rows;
    std::vector<WantedLogits> wanted;
    std::vector<ChosenLogits> chosen;  ///< one for each part (for_each_part)
    Decoder* chooses = nullptr;        ///< the decoder whose begin_logits() was called, or null
  };
  /// Computes the rows of the batch on the host, or queues them on one device.
  void begin(const Engine& of, std::span<DecodeRow* const> members, Batch& batch);
  void end(Batch& batch);
  void end_all_downloads();
  template <class Work>
  void for_each_part(const Batch& batch, Work&& work) const;
  /// Computes the logits of the rows. `states` holds their hidden states after the last layer.
  void begin_logits(Decoder& decoder, const float* states, Batch& batch);
  /// Writes row.best from the sequence's logits, on the host.
  void choose_on_host(DecodeRow& row);
  /// Returns the decoder of the queue's rank. It uses the weights of `of`.
  Decoder& decoder(const Engine& of, const Queue& member);

  std::shared_ptr<const Engine> engine;
  Queue queue;
  size_t most_rows = kMostRows;  ///< largest number of rows of a Batch
  /// One thread per device if several devices share the model; else null.
  std::shared_ptr<WorkerGroup> workers;
  std::vector<Decoder> decoders;  ///< one per device
  /// The argument of begin_decode() during a call; null: none.
  const std::function<void()>* before_choice = nullptr;
  // Memory of a batched decode step. The first `begun` batches have begun and not ended.
  std::vector<DecodeRow*> running;
  std::vector<std::unique_ptr<Batch>> batches;
  size_t begun = 0;
};

}  // namespace longhaul
