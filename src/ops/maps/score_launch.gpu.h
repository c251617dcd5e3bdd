#pragma once
// Host code that runs before the kernels of operations on softmax maps: converts queries to bf16
// and uploads jobs.

#include "ops/maps/score_plan.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Returns whether a whole key of this head dimension fits in a warp's registers.
bool has_score_tile(int head_dim);

/// The form in which the kernels read query rows.
enum class QueryRowForm : uint8_t { kBF16, kAsGiven };

/// Sets the query rows of the jobs, in bf16 copies if the kernels need them. Uploads the jobs if
/// they are too many for kernel arguments. The uploaded jobs stay at `jobs` until the next call
/// uses the scratch. Also provides `numbers` floats of scratch.
struct SentJobs {
  const ScoreJob* jobs;  ///< null: passed as kernel arguments
  float* room;
};
SentJobs send_jobs(Stream stream, const AttendCall& call, ScoreJobs& jobs, QueryRowForm form,
                   int64_t numbers, ScoreScratch& scratch);

}  // namespace longhaul::cuda
