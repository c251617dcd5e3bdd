#pragma once
// Measures the speed of several sequences that are decoded together.

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
  /// On a device: median time of a step in which the host works and does not wait for the device.
  std::optional<double> host_seconds;
  /// Bytes that a step reads: the keys and values of all sequences, and the weights. The weights
  /// count once on a device, and once for every 8 sequences on a CPU.
  size_t bytes_per_step = 0;
  size_t kv_bytes = 0;               ///< total over all sequences
  std::optional<size_t> peak_bytes;  ///< largest resident set during decode
  /// Number of sequences whose logits in the batch are bitwise equal to their logits when they are
  /// decoded alone. It is empty if this was not checked.
  std::optional<int64_t> identical;
};

struct BatchBench {
  std::vector<int64_t> sequences, depths;
  int64_t steps = 64;
  int repeat = 1;
  bool check = false;
};

/// Throws UserError if the largest batch does not fit into memory. The message states the required
/// memory, the limit, and the largest number of sequences that fits. The sequences of a batch use
/// the methods in turn.
void check_batches_fit(const std::shared_ptr<const Engine>& engine,
                       std::span<const SessionOptions> methods, const BatchBench& what);

/// Measures batches. The sequences have equal prompts but share no pages. A step therefore reads as
/// much memory as with different prompts. Stops early if it is cancelled.
std::vector<BatchSpeed> bench_batches(const std::shared_ptr<const Engine>& engine,
                                      std::span<const SessionOptions> methods,
                                      const BatchBench& what, const CancelFlag* cancel);

}  // namespace longhaul
