#pragma once
// Measures the speed of decoding several sequences in one batch.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "bench/spread.h"
#include "engine/sequence.h"

namespace longhaul {

struct BatchSpeed {
  int64_t sequences = 0;
  int64_t depth = 0;  ///< number of tokens of each sequence before the first step
  int64_t steps = 0;
  Spread tokens_per_second;  ///< total over all sequences
  double step_seconds = 0;   ///< median of the time per step
  /// On a device: the part of a step's time in which the host does not wait for the device
  /// (median). Empty on the host.
  std::optional<double> host_seconds;
  /// Bytes that a step reads: the keys and values of all sequences, and the weights. A device reads
  /// the weights once per step. A CPU reads them once for every 8 sequences.
  size_t bytes_per_step = 0;
  size_t kv_bytes = 0;               ///< total over all sequences
  std::optional<size_t> peak_bytes;  ///< largest resident set during decode
  /// Number of sequences whose logits are bitwise equal to those that result from decoding the
  /// sequence alone. Empty if this was not checked.
  std::optional<int64_t> identical;
};

struct BatchBench {
  std::vector<int64_t> sequences, depths;
  int64_t steps = 64;
  int repeat = 1;
  bool check = false;
};

/// Throws UserError if the largest batch does not fit into memory. The message states the required
/// memory, the limit, and the largest number of sequences that fit. Sequence i of a batch uses
/// method i modulo the number of methods.
void check_batches_fit(const std::shared_ptr<const Engine>& engine,
                       std::span<const SessionOptions> methods, const BatchBench& what);

/// Measures batches. The sequences have equal prompts but share no pages of keys and values, so
/// that a step reads as much memory as with different prompts. If the measurement is cancelled,
/// returns the results so far.
std::vector<BatchSpeed> bench_batches(const std::shared_ptr<const Engine>& engine,
                                      std::span<const SessionOptions> methods,
                                      const BatchBench& what, const CancelFlag* cancel);

}  // namespace longhaul
