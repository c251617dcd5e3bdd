#pragma once
// What the host does before the kernels of operations on softmax maps: queries become bf16, jobs
// are sent.

#include "ops/maps/score_plan.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Head dimensions for which a whole key lies in a warp's registers.
bool has_score_tile(int head_dim);

/// How the kernels read query rows.
enum class QueryRowForm : uint8_t { kBF16, kAsGiven };

/// Gives the jobs query rows, in bf16 copies if the kernels want them so, and sends the jobs where
/// they are too many to travel with a launch: then they lie where the result says until the scratch
/// is used by the next call. `numbers` f32 of scratch come with them.
struct SentJobs {
  const ScoreJob* jobs;  ///< null: they travel with the launch
  float* room;
};
SentJobs send_jobs(Stream stream, const AttendCall& call, ScoreJobs& jobs, QueryRowForm form,
                   int64_t numbers, ScoreScratch& scratch);

}  // namespace longhaul::cuda
