#include "ops/cuda/span_tasks.h"

namespace longhaul::cuda {

void set_span_tasks(const DividedTokens& blocks, const SpanTokenRule& rule, int32_t* tokens,
                    std::byte* scratch, std::vector<SpanTask>& tasks) {
  const int64_t record = 1 + int64_t{rule.spans} * (1 + int64_t{rule.most});
  const int64_t heads = blocks.votes.size() / blocks.tokens;
  tasks.clear();
  for (int64_t b = 0; b < blocks.blocks(); ++b) {
    const int64_t first = b * blocks.block;
    SpanTask& task = tasks.emplace_back();
    task.map = blocks.maps.address() + first * blocks.block;
    task.n = blocks.length(b);
    task.stride = blocks.block;
    task.votes = heads == 0 ? nullptr : blocks.votes.address() + first * heads;
    task.heads = static_cast<int>(heads);
    task.level = static_cast<double>(rule.theta);
    task.most_iou = rule.phi;
    task.lambda = rule.lambda;
    task.most_spans = rule.spans;
    task.most_tokens = rule.most;
    task.before = rule.neighbours != SpanNeighbours::kColumn;
    task.after = rule.neighbours != SpanNeighbours::kRow;
    task.out = tokens + b * record;
    task.scratch = scratch + b * span_scratch_bytes(blocks.block, rule.spans);
  }
}

}  // namespace longhaul::cuda
