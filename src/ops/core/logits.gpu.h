#pragma once
// Selects, on the device, the logits that sampling needs. The order is that of engine/sampler.h.
// NaN and -infinity are no candidates. +infinity counts as the largest finite value. If two logits
// are equal, the lower token id comes first.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

inline constexpr int kMostBestLogits = 256;

/// Device memory for the functions below. It serves one call at a time, on one stream, with up to
/// `rows` rows.
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

/// Writes the token with the largest logit of row r to best[r], or -1 if the row has no candidate.
/// `logits` is [rows, n]. This takes one launch.
void argmax(Stream stream, const float* logits, int64_t rows, int64_t n,
            const LogitScratch& scratch, int32_t* best);

/// Writes the `count` largest of logits [n] in descending order: tokens to ids [count] and logits
/// to values [count]. If there are fewer candidates, the remaining entries are -1 and -infinity.
/// count is at most kMostBestLogits. This takes two launches.
void best_logits(Stream stream, const float* logits, int64_t n, int count,
                 const LogitScratch& scratch, int32_t* ids, float* values);

/// A change of one logit. A positive logit is divided by `factor`, any other is multiplied by it.
/// Then `add` is added.
struct LogitChange {
  int32_t row, token;
  float factor, add;
};
/// Applies `count` changes to logits [rows, n]. `changes` is in device memory. No two changes may
/// concern the same logit.
void change_logits(Stream stream, float* logits, int64_t n, const LogitChange* changes,
                   int64_t count);

struct BestOfRow {
  int32_t id;
  float value;
};
struct SumsOfRow {
  float log_sum_exp;
  int32_t not_finite;
};

/// Returns the bytes that best_of_rows() needs for up to 64 logits of each of `rows` rows.
size_t best_of_rows_bytes(int64_t rows);

/// Counts the logits that are not finite, for best_of_rows(), and sets the logits of forbidden
/// tokens to -infinity. The mask of row r begins at word masks[r] of `bits` and has (n + 63) / 64
/// words. If masks[r] is negative or `masks` is null, all tokens are allowed. `memory` is passed to
/// best_of_rows() afterwards.
void mask_logits(Stream stream, float* logits, int64_t rows, int64_t n, const int64_t* masks,
                 const uint64_t* bits, std::byte* memory);

/// Writes the `count` (at most 64) largest logits of each row to best [rows, count], and the sums
/// of each row to sums [rows]. mask_logits() must have run for the same rows.
void best_of_rows(Stream stream, const float* logits, int64_t rows, int64_t n, int count,
                  std::byte* memory, BestOfRow* best, SumsOfRow* sums);

}  // namespace longhaul::cuda
