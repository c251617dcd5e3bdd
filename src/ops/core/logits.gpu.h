#pragma once
// Selects on the device the logits that sampling needs, in the order of engine/sampler.h. NaN and
// -infinity are no candidates. +infinity counts as the largest finite value. Of equal logits the
// lower number comes first.

#include <cstdint>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

inline constexpr int kMostBestLogits = 256;

/// Memory for one call at a time on one stream with up to `rows` rows.
class LogitScratch {
 public:
  LogitScratch() = default;
  LogitScratch(Stream stream, int64_t rows);
  std::byte* data() const { return memory_.data(); }
  int64_t rows() const { return rows_; }

 private:
  DeviceBuffer memory_;
  int64_t rows_ = 0;
};

/// Writes the number of the largest of logits [rows, n] of each row r to best[r], or -1 if there is
/// no candidate. Takes one launch.
void argmax(Stream stream, const float* logits, int64_t rows, int64_t n,
            const LogitScratch& scratch, int32_t* best);

/// Writes the `count` best of logits [n], best first, to ids [count] and values [count]. Entries
/// after the last candidate are -1 and -infinity. count is at most kMostBestLogits. Takes two
/// launches.
void best_logits(Stream stream, const float* logits, int64_t n, int count,
                 const LogitScratch& scratch, int32_t* ids, float* values);

}  // namespace longhaul::cuda
