// The GPU's operations of this method.

#include "attention/methods/infllm/block_index.gpu.h"
#include "attention/methods/infllm/block_index.h"
#include "attention/methods/infllm/block_representatives.gpu.h"
#include "attention/methods/infllm/block_representatives.h"
#include "ops/blocks/block_rooms.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {
namespace {

bool run_block_representatives(GpuQueue& queue, const RepresentativesCall& call, View<float> out) {
  auto& rooms = queue.own<BlockRooms>();
  if (!can_read(call.lists.front())) return false;
  const int64_t tokens = call.votes.size() / call.heads / call.blocks;
  const auto columns = static_cast<size_t>(call.votes.size()) * sizeof(float);
  const auto chosen = static_cast<size_t>(call.blocks * call.heads * call.count) * sizeof(int32_t);
  rooms.scratch.at_least(columns + chosen);
  auto* const numbers = static_cast<std::byte*>(rooms.scratch.data);
  block_representatives(queue.handle(), form_of(call.lists.front()),
                        {.lists = rooms.upload_tables(call.lists),
                         .first = call.first,
                         .tokens = tokens,
                         .votes = call.votes.address(),
                         .heads = call.heads,
                         .kv_heads = static_cast<int>(call.lists.size()),
                         .count = call.count,
                         .mean = call.mean,
                         .blocks = call.blocks,
                         .columns = reinterpret_cast<float*>(numbers),
                         .chosen = reinterpret_cast<int32_t*>(numbers + columns),
                         .out = out.address()});
  return true;
}

}  // namespace

void implement_infllm(GpuQueue& queue) {
  queue.implement(kBlockScores, [](GpuQueue& on, const BlockVectors& index, View<const float> query,
                                   View<float> scores) {
    return block_scores(
        on.handle(),
        {index.vectors.address(), index.type, scores.size(), static_cast<int>(index.heads),
         static_cast<int>(index.count), static_cast<int>(index.head_dim)},
        query.address(), scores.address());
  });
  queue.implement(kBlockRepresentatives, run_block_representatives);
}

}  // namespace longhaul::cuda
