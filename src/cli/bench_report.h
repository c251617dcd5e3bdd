#pragma once
// Formats the output of `longhaul bench`.

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
  std::string mix;                  ///< methods that the sequences of a batch use in turn (`--mix`)
  std::vector<BatchSpeed> batches;  ///< only with `--sessions`, which measures nothing else
  /// The largest of all measurements of methods; taken before the machine is measured.
  size_t peak_bytes = 0;
  std::optional<MachinePeak> machine;  ///< empty with --no-machine
  bool cancelled = false;
};

std::string bench_text(const BenchResults& results);
/// Returns {"results": [{"attention", "test", "prompt" or "depth", "tokens_per_second": {median,
/// min, max}, ...}], "peak_rss_bytes", "machine": {...}}. bench/compare reads this format.
nlohmann::ordered_json bench_json(const BenchResults& results);

}  // namespace longhaul
