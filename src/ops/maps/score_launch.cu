#include <cuda_runtime.h>

#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/maps/score_launch.gpu.h"

namespace longhaul::cuda {
namespace {

/// Converts pairs of values; rows have an even number.
__global__ void __launch_bounds__(256)
    round_queries(const float2* from, int64_t pairs, uint32_t* to) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  await_turn();
  if (i >= pairs) return;
  const float2 x = from[i];
  to[i] = bf16_pair(x.x, x.y);
}

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

bool has_score_tile(int head_dim) {
  return head_dim == 64 || head_dim == 80 || head_dim == 96 || head_dim == 112 || head_dim == 128 ||
         head_dim == 256;
}

SentJobs send_jobs(Stream stream, const AttendCall& call, ScoreJobs& jobs, QueryRowForm query_form,
                   int64_t numbers, ScoreScratch& scratch) {
  const int64_t row = int64_t{call.heads} * call.head_dim;
  const bool rounded = !call.rounded.empty();
  LH_ASSERT(!rounded || call.queries.size() == 1);
  const int64_t rows = query_form == QueryRowForm::kBF16 && !rounded ? jobs.rows().count() : 0;
  const auto forms = std::ssize(call.queries);
  const size_t queries = aligned(static_cast<size_t>(forms * rows * row) * sizeof(uint16_t));
  std::byte* const room = scratch.room(queries + static_cast<size_t>(numbers) * sizeof(float));
  for (int64_t form = 0; form < forms && rows > 0; ++form) {
    const float* from = call.queries[static_cast<size_t>(form)].address();
    const int64_t pairs = rows * row / 2;
    launch_early(stream, "round_queries", round_queries, static_cast<unsigned>((pairs + 255) / 256),
                 256, 0, reinterpret_cast<const float2*>(from + jobs.rows().first * row), pairs,
                 reinterpret_cast<uint32_t*>(room) + form * pairs);
  }
  const auto* const copies = reinterpret_cast<const uint16_t*>(room);
  const auto* const all = reinterpret_cast<const uint16_t*>(call.rounded.address());
  jobs.name_queries(call, rounded ? all + jobs.rows().first * row : copies);
  float* const numbers_at = reinterpret_cast<float*>(room + queries);
  if (jobs.all().size() <= kOwnJobs && !jobs.have_lists()) return {nullptr, numbers_at};
  const ScoreScratch::Plan plan = scratch.begin(jobs.bytes());
  jobs.write(plan.host, plan.device);
  scratch.send(stream, plan);
  return {reinterpret_cast<const ScoreJob*>(plan.device), numbers_at};
}

}  // namespace longhaul::cuda
