#pragma once
// Selects, on the device, the logits that sampling needs. Larger logits come first, as in
// ops/core/best_logits.h. NaN and -infinity are not candidates. +infinity counts as the largest
// finite value. If two logits are equal, the lower token id comes first.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

inline constexpr int kMostBestLogits = 256;

/// Device memory for argmax() and best_logits() below. It serves one call at a time, on one stream,
/// with up to `rows` rows.
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

/// Writes the `count` largest of logits [n] in descending order: their tokens to ids [count] and
/// the logits to values [count]. If there are fewer candidates, the remaining entries are -1 and
/// -infinity. `count` is at most kMostBestLogits. This takes two launches.
void best_logits(Stream stream, const float* logits, int64_t n, int count,
                 const LogitScratch& scratch, int32_t* ids, float* values);

/// A change of one logit. A positive logit is divided by `factor`, and any other is multiplied by
/// it. Then `add` is added.
struct LogitChange {
  int32_t row, token;
  float factor, add;
};
/// Applies `count` changes to logits [rows, n]. `changes` is in device memory and must not contain
/// two changes of the same logit.
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

/// Returns the size in bytes of the scratch memory that mask_logits() and best_of_rows() need for
/// `rows` rows.
size_t best_of_rows_bytes(int64_t rows);

/// Sets the logits of forbidden tokens to -infinity and counts the logits of each row that are not
/// finite. The mask of row r begins at word masks[r] of `bits` and has (n + 63) / 64 words; its
/// bits are those of LogitRules::mask. If masks[r] is negative or `masks` is null, all tokens of
/// the row are allowed. The counts are left in `memory` (best_of_rows_bytes()), which must be
/// passed to best_of_rows() next.
void mask_logits(Stream stream, float* logits, int64_t rows, int64_t n, const int64_t* masks,
                 const uint64_t* bits, std::byte* memory);

/// Writes the `count` (at most 64) largest logits of each row to best [rows, count], and the
/// SumsOfRow of each row to sums [rows]. mask_logits() must have run for the same rows with the
/// same `memory`.
void best_of_rows(Stream stream, const float* logits, int64_t rows, int64_t n, int count,
                  std::byte* memory, BestOfRow* best, SumsOfRow* sums);

}  // namespace longhaul::cuda
