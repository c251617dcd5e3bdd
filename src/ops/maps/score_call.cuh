#pragma once
// Launches the kernels of operations on softmax maps. A softmax map is the matrix of attention
// probabilities of query rows and keys. A job is the work of some consecutive thread blocks
// (score_plan.h).

#include <cuda_runtime.h>

#include <algorithm>

#include "ops/core/gpu/early_launch.cuh"
#include "ops/maps/score_launch.gpu.h"
#include "ops/maps/score_tile.cuh"

namespace longhaul::cuda {

/// Assigns thread blocks to the jobs, uploads the jobs, and reserves `numbers` floats of scratch
/// memory. Returns the arguments of the kernels.
inline ScoreArgs prepare(Stream stream, const AttendCall& call, ScoreJobs& jobs, QueryRowForm form,
                         int64_t numbers, ScoreScratch& scratch) {
  jobs.number_blocks();
  const SentJobs sent = send_jobs(stream, call, jobs, form, numbers, scratch);
  ScoreArgs args{};
  args.sent = sent.jobs;
  if (sent.jobs == nullptr) std::ranges::copy(jobs.all(), args.own);
  args.job_count = static_cast<int32_t>(jobs.all().size());
  args.lse = call.lse_in.address();
  args.room = sent.room;
  args.heads = call.heads;
  args.logits = logit_form(call.scale, call.cap);
  args.rotations = rotation_table(call.rotations);
  return args;
}

/// Launches a kernel that itself waits for earlier kernels (early_launch.cuh).
template <class... Parameters, class... Arguments>
void launch_scores(Stream stream, void (*kernel)(Parameters...), int blocks, int bytes,
                   const char* name, const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), name);
  launch_early(stream, name, kernel, static_cast<unsigned>(blocks), kScoreThreads,
               static_cast<size_t>(bytes), arguments...);
}

}  // namespace longhaul::cuda
