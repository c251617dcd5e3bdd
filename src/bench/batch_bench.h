#pragma once
// Speed of several sequences that are decoded together.

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
  int64_t depth = 0;  ///< tokens of each sequence before the first step
  int64_t steps = 0;
  Spread tokens_per_second;  ///< total of all sequences
  double step_seconds = 0;   ///< median
  /// On a device: the part of a step in which the host works and does not wait for it, median.
  std::optional<double> host_seconds;
  size_t bytes_per_step = 0;  ///< weights, once for every 8 rows on a CPU, and live keys and values
  size_t kv_bytes = 0;        ///< total of all sequences
  std::optional<size_t> peak_bytes;  ///< resident, while they were decoded
  /// For how many sequences all logits of a batch are bit-identical to those that the sequence
  /// gives alone; none: not checked.
  std::optional<int64_t> identical;
};

struct BatchBench {
  std::vector<int64_t> sequences, depths;
  int64_t steps = 64;
  int repeat = 1;
  bool check = false;
};

/// Throws UserError if the largest batch does not fit into memory: it says what is needed, the
/// limit, and the largest number of sequences that fits. `methods` take turns among the sequences
/// of a batch.
void check_batches_fit(const std::shared_ptr<const Engine>& engine,
                       std::span<const SessionOptions> methods, const BatchBench& what);

/// Each sequence has pages of its own, so that a step reads as much memory as with different texts.
/// Stops early on cancel.
std::vector<BatchSpeed> bench_batches(const std::shared_ptr<const Engine>& engine,
                                      std::span<const SessionOptions> methods,
                                      const BatchBench& what, const CancelFlag* cancel);

}  // namespace longhaul
