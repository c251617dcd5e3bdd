#pragma once
// The parts of a model runner, for the sources that compute with it.

#include <memory>
#include <optional>
#include <vector>

#include "engine/model_runner.h"
#include "engine/team_crew.h"
#include "model/decoder.h"

namespace longhaul {

struct ModelRunner::State {
  State(std::shared_ptr<const Engine> e, const Queue& q, Compute compute);

  /// Reads one token into at most kMostRows sequences, on the host or one device.
  void decode_together(std::span<DecodeRow* const> batch);
  void take_logits(std::span<DecodeRow* const> batch, const float* states);
  static void choose_on_host(DecodeRow& row);
  /// The decoder of the member with this queue.
  Decoder& decoder(const Queue& of) { return nth(decoders, of.rank()); }

  std::shared_ptr<const Engine> engine;
  Queue queue;
  std::shared_ptr<WorkerGroup> workers;  ///< the threads of a team
  std::vector<Decoder> decoders;         ///< one per member of a team
  // Memory of a batched decode step.
  std::vector<DecodeRow*> running;
  std::vector<ForwardPass> passes;
  std::vector<SequenceRows> rows;
  std::vector<WantedLogits> wanted;
};

}  // namespace longhaul
