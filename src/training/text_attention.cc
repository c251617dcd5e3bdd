#include "training/text_attention.h"

#include <algorithm>

#include "base/nth.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

constexpr int64_t kPageRows = 64;
constexpr int64_t kTaskRows = 256;  // that share the choice of their keys

int64_t pages_of(const TextAttention& shape) { return (shape.tokens + kPageRows - 1) / kPageRows; }

/// What rows [begin, begin + count) see: the sinks beyond every window, then the windows.
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
  const int64_t d = shape.head_dim, pages = pages_of(shape), page = 2 * kPageRows * d;
  pages_.resize(static_cast<size_t>(shape.kv_heads * pages * page));
  addresses_.clear();
  for (int64_t i = 0; i < shape.kv_heads * pages; ++i) {
    addresses_.push_back(reinterpret_cast<const std::byte*>(pages_.data() + i * page));
  }
  parallel_for(shape.kv_heads * pages, [&](int64_t i, int) {
    const int64_t first = i % pages * kPageRows, width = shape.key_width();
    for (int64_t r = first; r < std::min(first + kPageRows, shape.tokens); ++r) {
      const int64_t from = r * width + i / pages * d;
      float* to = pages_.data() + i * page + (r - first) * d;
      std::copy_n(rows.k + from, d, to);
      std::copy_n(rows.v + from, d, to + kPageRows * d);
    }
  });
}

void TextAttend::forward(const TextAttention& shape, const AttentionRows& rows, float* out,
                         float* lse) {
  store(shape, rows);
  const int64_t pages = pages_of(shape), blocks = (shape.tokens + kTaskRows - 1) / kTaskRows;
  const int group = shape.heads / shape.kv_heads;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  segments.reserve(static_cast<size_t>(2 * shape.kv_heads * blocks));
  for (int64_t block = blocks - 1; block >= 0; --block) {  // the longest first
    const int64_t begin = block * kTaskRows, count = std::min(kTaskRows, shape.tokens - begin);
    for (int head = 0; head < shape.kv_heads; ++head) {
      const PagedRows paged{addresses_.data() + head * pages, static_cast<int>(kPageRows),
                            shape.head_dim, DType::F32};
      add_segments(shape, paged, begin, count, segments);
      tasks.push_back({.head_begin = head * group,
                       .head_count = group,
                       .row_begin = static_cast<int>(begin),
                       .row_count = static_cast<int>(count),
                       .row_position = begin,
                       .segments = std::span(segments).last(2)});
    }
  }
  const View<const float> queries(rows.q, shape.tokens * shape.query_width());
  AttendCall call;
  call.queries = std::span(&queries, 1);
  call.heads = shape.heads;
  call.head_dim = shape.head_dim;
  call.scale = shape.scale;
  call.compute = compute_;
  call.out = {out, shape.tokens * shape.query_width()};
  call.lse = {lse, shape.tokens * shape.heads};
  attend(call, tasks);
}

}  // namespace longhaul
