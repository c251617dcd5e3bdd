#pragma once
// Prepares launches of operations on softmax maps, which are matrices of attention probabilities.
// It converts queries to bf16 and uploads jobs. A job is the work of consecutive thread blocks
// (score_plan.h).

#include "ops/maps/score_plan.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Returns whether a whole key of this head dimension fits in the registers of a warp.
bool has_score_tile(int head_dim);

/// The type in which the kernels read query rows.
enum class QueryRowForm : uint8_t { kBF16, kAsGiven };

/// Sets the query rows of the jobs, and makes bf16 copies if the kernels need them. Uploads the
/// jobs if they are too many for kernel arguments. The uploaded jobs stay at `jobs` until the next
/// call uses the scratch. Also reserves `numbers` floats of scratch.
struct SentJobs {
  const ScoreJob* jobs;  ///< null: passed as kernel arguments
  float* room;
};
SentJobs send_jobs(Stream stream, const AttendCall& call, ScoreJobs& jobs, QueryRowForm form,
                   int64_t numbers, ScoreScratch& scratch);

}  // namespace longhaul::cuda
