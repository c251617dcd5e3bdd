#pragma once
// Prepares launches of operations on softmax maps (matrices of attention probabilities): converts
// queries to bf16 and uploads jobs. A job is the work of some consecutive thread blocks
// (score_plan.h).

#include "ops/maps/score_plan.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Returns whether the kernels of score_tile.cuh support the head dimension. A warp holds 16 keys
/// in registers, so there is one kernel for each supported dimension.
bool has_score_tile(int head_dim);

/// The form in which kernels read queries: copied as bf16, or the call's own array.
enum class QueryRowForm : uint8_t { kBF16, kAsGiven };

/// The jobs and the scratch memory of a launch, in device memory, as send_jobs() prepares them.
struct SentJobs {
  const ScoreJob* jobs;  ///< null: the jobs are passed as kernel arguments
  float* room;
};
/// Sets the query rows of the jobs, and makes bf16 copies of them if `form` is kBF16. Uploads the
/// jobs if they are too many for kernel arguments. The uploaded jobs stay in place until the next
/// call uses the scratch memory. Also reserves `numbers` floats of scratch memory, at
/// SentJobs::room.
SentJobs send_jobs(Stream stream, const AttendCall& call, ScoreJobs& jobs, QueryRowForm form,
                   int64_t numbers, ScoreScratch& scratch);

}  // namespace longhaul::cuda
