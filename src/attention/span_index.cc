#include "attention/span_index.h"

#include <algorithm>
#include <limits>

#include "base/byte_stream.h"
#include "base/error.h"

namespace longhaul {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
/// Their vectors stay in a core's cache while all queries pass.
constexpr size_t kBlocksAtATime = 32;

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
  std::vector<float> scores(block_ends_.size(), kLowest);
  const int64_t count = static_cast<int64_t>(queries.size()) / width;
  std::vector<float> dots;
  ActivationRows rows;
  for (size_t first = 0; first < scores.size(); first += kBlocksAtATime) {
    const size_t last = std::min(scores.size(), first + kBlocksAtATime);
    const int64_t begin = vectors_before(first), vectors = vectors_before(last) - begin;
    TensorView view;
    view.data = reinterpret_cast<const std::byte*>(vectors_.data() + begin * width);
    view.rank = 2;
    view.shape = {vectors, width, 1, 1};
    dots.resize(static_cast<size_t>(kMatvecMaxRows * vectors));
    for (int64_t q = 0; q < count; q += kMatvecMaxRows) {
      const int64_t some = std::min(kMatvecMaxRows, count - q);
      rows.assign(queries.data() + q * width, some, width);
      matvec(view, rows, dots.data());
      for (int64_t i = 0; i < some; ++i)
        raise(dots.data() + i * vectors, first, last, rule, scores);
    }
  }
  return scores;
}

int64_t SpanIndex::vectors_before(size_t block) const {
  const size_t spans = block == 0 ? 0 : static_cast<size_t>(block_ends_[block - 1]);
  return spans == 0 ? 0 : span_ends_[spans - 1];
}

/// Raises the scores of blocks [first, last) to what one query has; `dot` begins with their
/// vectors.
void SpanIndex::raise(const float* dot, size_t first, size_t last, SpanSimilarity rule,
                      std::vector<float>& scores) const {
  size_t span = first == 0 ? 0 : static_cast<size_t>(block_ends_[first - 1]);
  int64_t v = 0;
  const int64_t before = vectors_before(first);
  for (size_t b = first; b < last; ++b) {
    for (; span < static_cast<size_t>(block_ends_[b]); ++span) {
      float total = rule == SpanSimilarity::kSum ? 0 : kLowest;
      for (; v < span_ends_[span] - before; ++v) {
        total = rule == SpanSimilarity::kSum ? total + dot[v] : std::max(total, dot[v]);
      }
      scores[b] = std::max(scores[b], total);
    }
  }
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
