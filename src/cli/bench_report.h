#pragma once
// Defines the results of `longhaul bench`, and formats them as text and JSON.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/batch_bench.h"
#include "bench/machine_peak.h"
#include "bench/speed_bench.h"

namespace longhaul {

struct MethodSpeeds {
  std::string attention;
  std::vector<PrefillSpeed> prefill;
  std::vector<DecodeSpeed> decode;
};

struct BenchResults {
  const Engine* engine = nullptr;
  SessionOptions session;
  int repeat = 0;
  std::vector<MethodSpeeds> methods;
  /// With `--mix`: the methods, separated by commas, that alternate among the sequences of a batch.
  std::string mix;
  std::vector<BatchSpeed> batches;  ///< only with `--sessions`, which measures nothing else
  /// Largest resident memory while the methods were measured. The measurement of the machine is not
  /// included.
  size_t peak_bytes = 0;
  std::optional<MachinePeak> machine;  ///< empty with --no-machine
  bool cancelled = false;
};

std::string bench_text(const BenchResults& results);
/// Returns {"results": [{"attention", "test", "prompt" or "depth", "tokens_per_second": {median,
/// min, max}, ...}], "peak_rss_bytes", "machine": {...}}. bench/compare reads this format.
nlohmann::ordered_json bench_json(const BenchResults& results);

}  // namespace longhaul
