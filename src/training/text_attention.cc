#include "training/text_attention.h"

#include <algorithm>

#include "ops/attention/attention.h"

namespace longhaul {
namespace {

constexpr int64_t kTaskRows = 256;  // rows that share a list of visible keys

/// Keys visible to rows [begin, begin + count): the sinks before every window, then the windows.
void add_segments(const TextAttention& shape, const PagedRows& rows, int64_t begin, int64_t count,
                  std::vector<KeySegment>& segments) {
  KeySegment near;
  near.rows = rows;
  near.begin = std::max<int64_t>(0, begin - shape.window + 1);
  near.position = near.begin;
  near.count = begin + count - near.begin;
  near.visible = Visibility::kWindow;
  near.window = shape.window;
  KeySegment sinks;
  sinks.rows = rows;
  sinks.count = std::min(shape.sink, begin + count);
  sinks.visible = Visibility::kBeyond;
  sinks.window = shape.window;
  segments.push_back(sinks);
  segments.push_back(near);
}

}  // namespace

void TextAttend::store(const TextAttention& shape, const AttentionRows& rows) {
  // f32 is lossless on the host. A device multiplies bf16 unless f32 is requested.
  const bool exact = queue_.on_host() || compute_ == AttendCompute::kF32;
  const KvLayout layout{.heads = {shape.kv_heads},
                        .head_dim = shape.head_dim,
                        .type = exact ? DType::F32 : DType::BF16};
  if (keys_ && keys_->layout().same_rows(layout)) {
    keys_->clear();
  } else {
    keys_.emplace(layout, queue_);
  }
  keys_->append(0, shape.tokens, rows.k, rows.v);
}

void TextAttend::attend(const TextAttention& shape, View<const float> q, View<float> out,
                        View<float> lse) {
  const int64_t blocks = (shape.tokens + kTaskRows - 1) / kTaskRows;
  const int group = shape.heads / shape.kv_heads;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  segments.reserve(static_cast<size_t>(2 * shape.kv_heads * blocks));
  for (int64_t block = blocks - 1; block >= 0; --block) {  // longest blocks first
    const int64_t begin = block * kTaskRows, count = std::min(kTaskRows, shape.tokens - begin);
    for (int head = 0; head < shape.kv_heads; ++head) {
      add_segments(shape, keys_->rows(0, head), begin, count, segments);
      tasks.push_back({.head_begin = head * group,
                       .head_count = group,
                       .row_begin = static_cast<int>(begin),
                       .row_count = static_cast<int>(count),
                       .row_position = begin,
                       .segments = std::span(segments).last(2)});
    }
  }
  AttendCall call;
  call.queue = &queue_;
  call.queries = std::span(&q, 1);
  call.heads = shape.heads;
  call.head_dim = shape.head_dim;
  call.scale = shape.scale;
  call.compute = compute_;
  call.out = out;
  call.lse = lse;
  longhaul::attend(call, tasks);
}

}  // namespace longhaul
