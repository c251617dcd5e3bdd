#pragma once
// Selects on the device the logits that sampling needs, in the order of engine/sampler.h. NaN and
// -infinity are no candidates. +infinity counts as the largest finite value. Of equal logits the
// lower number comes first.

#include <cstddef>
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

/// A change of a logit: positive ones are divided by `factor`, others multiplied; then `add`.
struct LogitChange {
  int32_t row, token;
  float factor, add;
};
/// Applies the changes, of which no two are for the same logit. They are in device memory.
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

/// Memory of best_of_rows() for up to 64 logits of each of `rows` rows.
size_t best_of_rows_bytes(int64_t rows);

/// Counts the logits that are not finite, for best_of_rows(), and makes those that the masks forbid
/// -infinity. Row r has mask masks[r], or all are allowed if that is below 0: a mask begins at that
/// word of `bits` and has (n + 63) / 64 words. Null masks: all are allowed. `memory` is that of
/// best_of_rows().
void mask_logits(Stream stream, float* logits, int64_t rows, int64_t n, const int64_t* masks,
                 const uint64_t* bits, std::byte* memory);

/// Writes the best `count` (at most 64) of each row to best [rows, count] and its sums to sums
/// [rows]. mask_logits() has run for the same rows.
void best_of_rows(Stream stream, const float* logits, int64_t rows, int64_t n, int count,
                  std::byte* memory, BestOfRow* best, SumsOfRow* sums);

}  // namespace longhaul::cuda
