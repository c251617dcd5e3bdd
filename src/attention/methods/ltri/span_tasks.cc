#include "attention/methods/ltri/span_tasks.h"

namespace longhaul::cuda {

SpanTasks span_tasks(const DividedTokens& blocks, const SpanTokenRule& rule, int32_t* tokens) {
  SpanTask task;
  task.map = blocks.maps.address();
  task.stride = blocks.block;
  task.heads = static_cast<int>(blocks.votes.size() / blocks.tokens);
  task.votes = task.heads == 0 ? nullptr : blocks.votes.address();
  task.level = static_cast<double>(rule.theta);
  task.most_iou = rule.phi;
  task.lambda = rule.lambda;
  task.most_spans = rule.spans;
  task.most_tokens = rule.most;
  task.before = rule.neighbours != SpanNeighbours::kColumn;
  task.after = rule.neighbours != SpanNeighbours::kRow;
  task.out = tokens;
  return {task, blocks.tokens, 1 + int64_t{rule.spans} * (1 + int64_t{rule.most}),
          span_scratch_bytes(blocks.block, rule.spans, rule.most)};
}

}  // namespace longhaul::cuda
