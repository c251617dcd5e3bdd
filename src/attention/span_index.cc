#include "attention/span_index.h"

#include <algorithm>
#include <limits>

#include "base/byte_stream.h"
#include "base/error.h"

namespace longhaul {
namespace {

bool ascends_to(std::span<const int32_t> ends, size_t last) {
  int32_t previous = 0;
  for (const int32_t end : ends) {
    if (end <= previous) return false;
    previous = end;
  }
  return static_cast<size_t>(previous) == last;
}

}  // namespace

void SpanIndex::add_span(std::span<const float> vectors, int64_t width) {
  vectors_.insert(vectors_.end(), vectors.begin(), vectors.end());
  span_ends_.push_back(static_cast<int32_t>(static_cast<int64_t>(vectors_.size()) / width));
}

std::vector<float> SpanIndex::scores(std::span<const float> queries, int64_t width,
                                     SpanSimilarity rule) const {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  std::vector<float> scores(block_ends_.size(), kLowest);
  const int64_t count = static_cast<int64_t>(queries.size()) / width;
  std::vector<float> dots(static_cast<size_t>(kMatvecMaxRows * vectors()));
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(vectors_.data());
  view.rank = 2;
  view.shape = {vectors(), width, 1, 1};
  ActivationRows rows;
  for (int64_t first = 0; first < count; first += kMatvecMaxRows) {
    const int64_t some = std::min(kMatvecMaxRows, count - first);
    rows.assign(queries.data() + first * width, some, width);
    matvec(view, rows, dots.data());
    for (int64_t q = 0; q < some; ++q) {
      const float* dot = dots.data() + q * vectors();
      size_t span = 0;
      int32_t v = 0;
      for (size_t b = 0; b < block_ends_.size(); ++b) {
        for (; span < static_cast<size_t>(block_ends_[b]); ++span) {
          float total = rule == SpanSimilarity::kSum ? 0 : kLowest;
          for (; v < span_ends_[span]; ++v) {
            total = rule == SpanSimilarity::kSum ? total + dot[v] : std::max(total, dot[v]);
          }
          scores[b] = std::max(scores[b], total);
        }
      }
    }
  }
  return scores;
}

void SpanIndex::save(ByteWriter& out) const {
  out.array(std::span<const float>(vectors_));
  out.array(std::span<const int32_t>(span_ends_));
  out.array(std::span<const int32_t>(block_ends_));
}

void SpanIndex::restore(ByteReader& in, int64_t width) {
  vectors_ = in.array<float>();
  span_ends_ = in.array<int32_t>();
  block_ends_ = in.array<int32_t>();
  if (!ascends_to(span_ends_, vectors_.size() / static_cast<size_t>(width)) ||
      !ascends_to(block_ends_, span_ends_.size())) {
    user_error("{}: damaged: the index of blocks contradicts itself", in.path().string());
  }
}

}  // namespace longhaul
