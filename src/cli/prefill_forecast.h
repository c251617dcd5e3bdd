#pragma once
// Measures the beginning of a text's prefill, to forecast the time of all of it.

#include <memory>
#include <span>

#include "engine/prefill_time.h"
#include "engine/session.h"

namespace longhaul {

struct MeasuredPrefill {
  PrefillTime time{0};
  double seconds = 0;
  int64_t tokens = 0;
};

/// Prefills the beginning of `tokens` for about a second, in chunks of `chunk` tokens (0: as the
/// method chooses).
MeasuredPrefill measure_prefill(const std::shared_ptr<const Engine>& engine, SessionOptions options,
                                std::span<const int32_t> tokens, int chunk);

/// Returns the forecast seconds for the prefill of `tokens` with the method of `options`, after
/// such a measurement.
double forecast_prefill(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
                        std::span<const int32_t> tokens);

}  // namespace longhaul
