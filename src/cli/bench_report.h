#pragma once
// What `longhaul bench` prints.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

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
  size_t peak_bytes = 0;               ///< of all rows; before the machine was measured
  std::optional<MachinePeak> machine;  ///< empty with --no-machine
  bool cancelled = false;
};

std::string bench_text(const BenchResults& results);
/// {"results": [{"attention", "test", "prompt" or "depth", "tokens_per_second": {median, min, max},
/// ...}], "peak_rss_bytes", "machine": {...}}: the form that bench/compare reads.
nlohmann::ordered_json bench_json(const BenchResults& results);

}  // namespace longhaul
