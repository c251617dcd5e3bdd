#include "attention/methods/infllm/block_representatives.h"

#include "base/on_device.h"
#include "ops/attention/stored_key.h"
#include "ops/core/fill.h"
#include "ops/core/host_copies.h"

namespace longhaul {

void block_representatives(Queue& queue, const RepresentativesCall& call,
                           RepresentativesMemory& memory, View<float> out) {
  const int heads = call.heads, group = heads / static_cast<int>(call.lists.size());
  const int64_t dim = call.lists.front().head_dim;
  const int64_t tokens = call.votes.size() / heads / call.blocks;
  if (on_device(kBlockRepresentatives, queue, call, out)) return;
  if (!queue.on_host()) {
    HostCopies on(queue);
    std::vector<PagedRows> lists;
    for (const PagedRows& list : call.lists) {
      lists.push_back(on(list, call.first, call.first + call.blocks * tokens));
    }
    RepresentativesCall here = call;
    here.lists = lists;
    here.votes = on(call.votes);
    return block_representatives(host_queue(), here, memory, on(out));
  }
  LH_ASSERT(call.count <= tokens);
  LH_ASSERT(out.size() == call.blocks * heads * (call.mean ? 1 : call.count) * dim);
  const View<float> votes = memory.votes.resize(queue, tokens);
  const std::span<float> key = host(memory.key.resize(queue, dim));
  const float share = call.mean ? 1.0f / static_cast<float>(call.count) : 1.0f;
  fill(queue, out, 0);
  float* to = host(out).data();
  for (int64_t i = 0; i < call.blocks * heads; ++i) {
    const int64_t block = i / heads, h = i % heads;
    for (int64_t t = 0; t < tokens; ++t) {
      host(votes)[static_cast<size_t>(t)] =
          host(call.votes)[static_cast<size_t>((block * tokens + t) * heads + h)];
    }
    const RowList chosen =
        select_rows(queue, votes, RowsToKeep{.count = call.count}, memory.chosen);
    const PagedRows& list = call.lists[static_cast<size_t>(h / group)];
    for (const int32_t token : host_rows(chosen)) {
      read_key(list, call.first + block * tokens + token, key.data());
      for (size_t t = 0; t < key.size(); ++t) to[t] += key[t] * share;
      if (!call.mean) to += dim;
    }
    if (call.mean) to += dim;
  }
}

}  // namespace longhaul
