#pragma once
// What the host does before the kernels of operations on softmax maps: queries become bf16, jobs
// are sent.

#include "ops/cuda/score_plan.h"
#include "ops/cuda/score_scratch.h"

namespace longhaul::cuda {

/// Head dimensions for which a whole key lies in a warp's registers.
bool has_score_tile(int head_dim);

/// Sends the jobs, and bf16 copies of the query rows that they name: both lie where the result
/// says until the scratch is used by the next call. `numbers` f32 of scratch come with them.
struct SentJobs {
  const ScoreJob* jobs;
  float* room;
};
SentJobs send_jobs(Stream stream, const AttendCall& call, ScoreJobs& jobs, int64_t numbers,
                   ScoreScratch& scratch);

}  // namespace longhaul::cuda
