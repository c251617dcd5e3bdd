#pragma once
// Defines the members of ModelRunner, for the source files that implement it.

#include <memory>
#include <optional>
#include <vector>

#include "engine/model_runner.h"
#include "engine/team_crew.h"
#include "model/decoder.h"

namespace longhaul {

struct ModelRunner::State {
  State(std::shared_ptr<const Engine> e, const Queue& q, Compute compute);

  /// Processes one token of each of at most kMostRows sequences of one engine, on the host or on
  /// one device.
  void decode_together(const Engine& of, std::span<DecodeRow* const> batch);
  /// Computes the logits of the rows. `states` holds their hidden states after the last layer.
  void take_logits(Decoder& decoder, std::span<DecodeRow* const> batch, const float* states);
  /// Writes row.best from the sequence's logits, on the host.
  void choose_on_host(DecodeRow& row);
  /// Returns the decoder of the queue's rank. It uses the weights of `of`.
  Decoder& decoder(const Engine& of, const Queue& member);

  std::shared_ptr<const Engine> engine;
  Queue queue;
  /// One thread per device if several devices share the model; else null.
  std::shared_ptr<WorkerGroup> workers;
  std::vector<Decoder> decoders;  ///< one per device
  /// The argument of decode() during a call; null: none.
  const std::function<void()>* before_choice = nullptr;
  // Scratch memory of a batched decode step.
  std::vector<DecodeRow*> running;
  std::vector<ForwardPass> passes;
  std::vector<SequenceRows> rows;
  std::vector<WantedLogits> wanted;
};

}  // namespace longhaul
