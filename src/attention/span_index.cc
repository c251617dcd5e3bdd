#include "attention/span_index.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/byte_stream.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/linear.h"
#include "ops/matvec.h"

namespace longhaul {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr size_t kGroupBlocks = 64;

bool ascends_to(std::span<const int32_t> ends, size_t last) {
  int32_t previous = 0;
  for (const int32_t end : ends) {
    if (end <= previous) return false;
    previous = end;
  }
  return static_cast<size_t>(previous) == last;
}

/// dots [queries, vectors]: its first row becomes the largest of each vector in [begin, end).
void keep_best_query(float* dots, int64_t queries, int64_t vectors, int64_t begin, int64_t end) {
  for (int64_t q = 1; q < queries; ++q) {
    const float* row = dots + q * vectors;
    for (int64_t v = begin; v < end; ++v) dots[v] = dots[v] > row[v] ? dots[v] : row[v];
  }
}

}  // namespace

SpanIndex::Group& SpanIndex::open_group() {
  if (groups_.empty() || groups_.back().block_ends.size() == kGroupBlocks) groups_.emplace_back();
  return groups_.back();
}

void SpanIndex::add_span(std::span<const float> vectors, int64_t width, DType type) {
  Group& group = open_group();
  const int64_t count = static_cast<int64_t>(vectors.size()) / width;
  if (type == DType::Q4_0) {
    if (common_.empty()) common_.assign(vectors.begin(), vectors.begin() + width);
    std::vector<float> rest(vectors.begin(), vectors.end());
    for (size_t i = 0; i < rest.size(); ++i) rest[i] -= common_[i % common_.size()];
    group.vectors.append(rest, type);
  } else {
    group.vectors.append(vectors, type);
  }
  group.span_ends.push_back(static_cast<int32_t>(group.count() + count));
}

void SpanIndex::end_block() {
  Group& group = open_group();
  group.block_ends.push_back(static_cast<int32_t>(group.span_ends.size()));
  ++blocks_;
}

int64_t SpanIndex::vectors() const {
  int64_t count = 0;
  for (const Group& group : groups_) count += group.count();
  return count;
}

size_t SpanIndex::bytes() const {
  size_t bytes = 0;
  for (const Group& group : groups_) bytes += group.vectors.bytes();
  return bytes;
}

bool SpanIndex::takes(DType type) const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [type](const Group& group) { return group.vectors.takes(type); });
}

std::vector<float> SpanIndex::scores(std::span<const float> queries, int64_t width,
                                     SpanSimilarity rule) const {
  std::vector<float> scores(static_cast<size_t>(blocks_), kLowest);
  const int64_t count = static_cast<int64_t>(queries.size()) / width;
  LH_ASSERT(count > 0);
  if (count <= kMatvecMaxRows) {
    score_few(queries, count, rule, scores.data());
  } else {
    score_many(queries, count, rule, scores.data());
  }
  return scores;
}

/// What each query's products with vectors less `common_` lack; empty where nothing was taken away.
std::vector<float> SpanIndex::common_products(std::span<const float> queries) const {
  std::vector<float> products;
  for (size_t at = 0; !common_.empty() && at < queries.size(); at += common_.size()) {
    products.push_back(std::inner_product(common_.begin(), common_.end(),
                                          queries.begin() + static_cast<int64_t>(at), 0.0f));
  }
  return products;
}

/// Decoding: the whole index is read at once, since the start of parallel work for each group would
/// take as long as the group.
void SpanIndex::score_few(std::span<const float> queries, int64_t count, SpanSimilarity rule,
                          float* scores) const {
  const int64_t width = std::ssize(queries) / count;
  const std::vector<float> common = common_products(queries);
  ActivationRows rows;
  rows.assign(queries.data(), count, width);
  Buffer<float> dots;
  dots.resize(static_cast<size_t>(count * vectors()));
  std::vector<MatvecJob> jobs;
  float* next = dots.data();
  for (const Group& group : groups_) {
    jobs.push_back({group.vectors.rows(width), next});
    next += count * group.count();
  }
  matvec(jobs, rows);
  parallel_for(std::ssize(groups_), [&](int64_t g, int) {
    const Group& group = groups_[static_cast<size_t>(g)];
    float* own = jobs[static_cast<size_t>(g)].y;
    group.add(common, own);
    if (rule == SpanSimilarity::kMax) keep_best_query(own, count, group.count(), 0, group.count());
    group.raise(own, count, rule, scores + g * static_cast<int64_t>(kGroupBlocks));
  });
}

void SpanIndex::score_many(std::span<const float> queries, int64_t count, SpanSimilarity rule,
                           float* scores) const {
  constexpr int64_t kGrain = 1024;
  const std::vector<float> common = common_products(queries);
  LinearInput rows;
  rows.assign(queries.data(), count, std::ssize(queries) / count);
  Buffer<float> dots;
  for (const Group& group : groups_) {
    const int64_t n = group.count();
    LinearJob job;
    job.weight = group.vectors.rows(rows.cols());
    dots.resize(static_cast<size_t>(count * n));
    job.y = dots.data();
    linear(rows, job, job.weight.type == DType::F32 ? Compute::kF32 : Compute::kBest);
    group.add(common, dots.data());
    if (rule == SpanSimilarity::kMax) {
      parallel_ranges(n, kGrain, [&](int64_t begin, int64_t end) {
        keep_best_query(dots.data(), count, n, begin, end);
      });
    }
    group.raise(dots.data(), count, rule, scores);
    scores += group.block_ends.size();
  }
}

/// To every product of query q: common[q].
void SpanIndex::Group::add(std::span<const float> common, float* dots) const {
  for (const float own : common) {
    for (float* end = dots + count(); dots != end; ++dots) *dots += own;
  }
}

/// Raises the scores of the group's blocks to what any query has: its products with all vectors,
/// dots [queries, count()]; with kMax the first row is every vector's largest.
void SpanIndex::Group::raise(const float* dots, int64_t queries, SpanSimilarity rule,
                             float* scores) const {
  LH_ASSERT(dots != nullptr);  // a group has a vector at least
  for (int64_t q = 0; q < (rule == SpanSimilarity::kMax ? 1 : queries); ++q, dots += count()) {
    size_t span = 0;
    int32_t v = 0;
    for (size_t b = 0; b < block_ends.size(); ++b) {
      for (; span < static_cast<size_t>(block_ends[b]); ++span) {
        float total = rule == SpanSimilarity::kSum ? 0 : kLowest;
        for (; v < span_ends[span]; ++v) {
          total = rule == SpanSimilarity::kSum ? total + dots[v] : std::max(total, dots[v]);
        }
        scores[b] = std::max(scores[b], total);
      }
    }
  }
}

void SpanIndex::save(ByteWriter& out) const {
  out.array(std::span<const float>(common_));
  out.number<uint64_t>(groups_.size());
  for (const Group& group : groups_) {
    group.vectors.save(out);
    out.array(std::span<const int32_t>(group.span_ends));
    out.array(std::span<const int32_t>(group.block_ends));
  }
}

void SpanIndex::restore(ByteReader& in, int64_t width) {
  const auto damaged = [&] {
    user_error("{}: damaged: the index of blocks contradicts itself", in.path().string());
  };
  groups_.clear();
  blocks_ = 0;
  common_ = in.array<float>();
  if (!common_.empty() && std::ssize(common_) != width) damaged();
  for (uint64_t left = in.number<uint64_t>(); left > 0; --left) {
    Group group;
    group.vectors.restore(in);
    group.span_ends = in.array<int32_t>();
    group.block_ends = in.array<int32_t>();
    const size_t blocks = group.block_ends.size();
    const int64_t elements = group.vectors.elements();
    if (elements % width != 0 || blocks == 0 || blocks > kGroupBlocks ||
        (left > 1 && blocks != kGroupBlocks) ||
        !ascends_to(group.span_ends, static_cast<size_t>(elements / width)) ||
        !ascends_to(group.block_ends, group.span_ends.size())) {
      damaged();
    }
    blocks_ += static_cast<int64_t>(blocks);
    groups_.push_back(std::move(group));
  }
}

}  // namespace longhaul
