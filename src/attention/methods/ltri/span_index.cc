#include "attention/methods/ltri/span_index.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/host_stage.h"
#include "base/nth.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

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

/// Returns whether each end is at most `most` above the previous one. `ends` is ascending.
bool within(std::span<const int32_t> ends, int32_t most) {
  int32_t previous = 0;
  return std::all_of(ends.begin(), ends.end(),
                     [&](int32_t end) { return end - std::exchange(previous, end) <= most; });
}

/// Sets the first row of dots [queries, vectors] to the maximum over the queries.
void keep_best_query(float* dots, int64_t queries, int64_t vectors) {
  constexpr int64_t kGrain = 1024;
  const auto raise = [&](int64_t begin, int64_t end) {
    for (int64_t q = 1; q < queries; ++q) {
      const float* row = dots + q * vectors;
      for (int64_t v = begin; v < end; ++v) dots[v] = dots[v] > row[v] ? dots[v] : row[v];
    }
  };
  // In this case the caller runs in parallel over groups.
  if (queries <= kMatvecMaxRows) return raise(0, vectors);
  parallel_ranges(vectors, kGrain, raise);
}

}  // namespace

void mean_of_spans(Queue& queue, const SpanTokens& tokens, View<const float> keys,
                   SpanMeans& means) {
  const int64_t blocks = tokens.blocks(), spans = tokens.spans(), slots = tokens.most();
  const int64_t width = keys.size() / (blocks * slots);
  means.tokens.resize(queue, blocks, static_cast<int>(spans), 1);
  const View<float> into = means.keys.resize(queue, blocks * spans * width);
  if (on_device(kMeanOfSpans, queue, tokens, keys, means.tokens, into)) return;
  if (!queue.on_host()) {
  }
  HostStage on(queue);
  const std::span<const int32_t> numbers = host(on(tokens.numbers()));
  const float* const rows = host(on(keys)).data();
  int32_t* record = host(on(means.tokens.numbers())).data();
  float* mean = host(on(into)).data();
  for (int64_t b = 0; b < blocks; ++b) {
    const auto block =
        SpanTokens::block_of(numbers.subspan(static_cast<size_t>(b * tokens.record()),
                                             static_cast<size_t>(tokens.record())),
                             spans);
    const auto count = static_cast<int32_t>(block.ends.size());
    *record++ = count;
    for (int32_t s = 0; s < spans; ++s) *record++ = std::min(s + 1, count);
    int64_t at = 0;
    for (int32_t s = 0; s < spans; ++s, mean += width) {
      const int64_t end = s < count ? nth(block.ends, s) : at, length = end - at;
      *record++ = length > 0 ? nth(block.tokens, at) : 0;
      const float* const first = rows + (b * slots + at) * width;
      for (int64_t i = 0; i < width; ++i) {
        float sum = 0;
        for (int64_t t = 0; t < length; ++t) sum += first[t * width + i];
        mean[i] = length > 0 ? sum / static_cast<float>(length) : 0;
      }
      at = end;
    }
  }
}

SpanIndex::Group& SpanIndex::open_group() {
  if (groups_.empty() || groups_.back().block_ends.size() == kGroupBlocks) groups_.emplace_back();
  return groups_.back();
}

void SpanIndex::add_blocks(Queue& queue, const SpanTokens& spans, View<float> vectors, DType type) {
  if (!queue.on_host()) {
    move_to_device(queue);
    slots_.append(queue, spans, vectors, type);
    blocks_ += spans.blocks();
    return;
  }
  for (int64_t b = 0; b < spans.blocks(); ++b) {
    const int64_t width = vectors.size() / (spans.blocks() * spans.most());
    const View<const float> of_block = vectors.part(b * spans.most() * width, spans.most() * width);
    int64_t begin = 0;
    for (const int32_t end : spans.of(b).ends) {
      add_span(of_block.part(begin * width, (end - begin) * width), width, type);
      begin = end;
    }
    end_block();
  }
}

void SpanIndex::add_span(View<const float> vectors, int64_t width, DType type) {
  Group& group = open_group();
  if (type == DType::Q4_0) {
    const std::span<const float> whole = host(vectors);
    if (common_.empty()) common_.assign(whole.begin(), whole.begin() + width);
    thread_local std::vector<float> rest;
    rest.assign(whole.begin(), whole.end());
    for (size_t i = 0; i < rest.size(); ++i) rest[i] -= common_[i % common_.size()];
    group.vectors.append(host_queue(), View<const float>(rest), type);
  } else {
    group.vectors.append(host_queue(), vectors, type);
  }
  group.span_ends.push_back(static_cast<int32_t>(group.count() + vectors.size() / width));
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
  size_t bytes = slots_.bytes();
  for (const Group& group : groups_) bytes += group.vectors.bytes();
  return bytes;
}

bool SpanIndex::takes(DType type) const {
  return slots_.takes(type) &&
         std::all_of(groups_.begin(), groups_.end(),
                     [type](const Group& group) { return group.vectors.takes(type); });
}

void SpanIndex::scores(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                       SpanSearch& memory, View<float> scores) {
  LH_ASSERT(scores.size() == blocks_);
  if (!queue.on_host()) return scores_on_device(queue, queries, rule, scores);
  LH_ASSERT(queries.count() > 0);
  const std::span<float> to = host(scores);
  std::fill(to.begin(), to.end(), kLowest);
  const int64_t count = queries.count();
  multiply(queries.vectors(), count, memory, [&](const Group& group, int64_t first, float* dots) {
    if (rule == SpanSimilarity::kMax) keep_best_query(dots, count, group.count());
    group.raise(dots, count, rule, to.data() + first);
  });
}

void SpanIndex::scores_on_device(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                                 View<float> scores) {
  move_to_device(queue);
  if (on_device(kSpanScores, queue, slots_.view(), queries, rule, scores)) return;
  HostStage on(queue);
  SpanSearch memory;
  on_host().scores(host_queue(), queries.on_host(queue), rule, memory, on(scores));
}

void SpanIndex::scores_of_ranks(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                                SpanSearch& memory, View<float> scores) {
  LH_ASSERT(scores.size() == blocks_ && queue.communicator() != nullptr);
  move_to_device(queue);
  const int64_t rows = rule == SpanSimilarity::kSum ? spans_ : int64_t{spans_} * most_;
  const View<float> products = memory.products.resize(queue, blocks_ * rows * queries.most());
  write_products(queue, queries, rule, products);
  all_reduce(queue, products);
  best_products(queue, queries, rule, products, scores);
}

/// Writes dot products to products [blocks, rows, queries.most()]. With kMax a row is a vector.
/// With kSum a row is a span and has the sum over its vectors. Elements without a row or a query
/// are zero.
void SpanIndex::write_products(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                               View<float> products) {
  fill(queue, products, 0);
  if (on_device(kSpanProducts, queue, slots_.view(), queries, rule, products)) return;
  HostStage on(queue);
  float* const to = host(on(products)).data();
  const int64_t most = queries.most(), block = products.size() / blocks_;
  const VectorList here = queries.on_host(queue);
  const int64_t count = here.count();
  SpanSearch memory;
  on_host().multiply(here.vectors(), count, memory,
                     [&](const Group& group, int64_t first, const float* dots) {
                       for (int64_t q = 0; q < count; ++q, dots += group.count()) {
                         group.add_rows(dots, rule, to + first * block + q, block, most);
                       }
                     });
}

/// Writes the maximum of each block's products to scores [blocks].
void SpanIndex::best_products(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                              View<const float> products, View<float> scores) const {
  const SlottedSpans spans = slots_.view();
  if (on_device(kBestProducts, queue, spans, queries, rule, products, scores)) return;
  HostStage on(queue);
  const std::span<const int32_t> records = host(on(spans.records));
  const float* from = host(on(products)).data();
  const std::span<float> to = host(on(scores));
  const int64_t count = host(on(queries.counted()))[0], most = queries.most();
  for (int64_t b = 0; b < blocks_; ++b, from += products.size() / blocks_) {
    const int32_t held = nth(records, b * spans.record);
    const int64_t rows =
        rule == SpanSimilarity::kSum || held == 0 ? held : nth(records, b * spans.record + held);
    float best = kLowest;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t q = 0; q < count; ++q) best = std::max(best, from[r * most + q]);
    }
    nth(to, b) = best;
  }
}

/// Moves an index from the host to the device. Groups exist here only after the index was restored
/// from a file.
void SpanIndex::move_to_device(Queue& queue) {
  if (groups_.empty()) return;
  const DType type = groups_.front().vectors.type();
  const int64_t slots = int64_t{spans_} * most_, record = 1 + spans_ + slots;
  const int64_t count = groups_.front().count();
  LH_ASSERT(count > 0);  // a group has at least one block
  const int64_t width = groups_.front().vectors.elements() / count;
  const size_t row = bytes_of(type, width);
  SpanSlots::OnHost all;
  all.records.resize(static_cast<size_t>(blocks_ * record));
  all.vectors.resize(static_cast<size_t>(blocks_ * slots) * row);
  all.common = common_;
  int32_t* to = all.records.data();
  uint8_t* to_vectors = all.vectors.data();
  for (const Group& group : groups_) {
    const uint8_t* from = host(group.vectors.stored()).data();
    size_t span = 0;
    int32_t begin = 0;
    for (const int32_t spans : group.block_ends) {
      const int32_t first = begin;
      for (; span < static_cast<size_t>(spans); ++span) {
        begin = group.span_ends[span];
        to[1 + to[0]++] = begin - first;
      }
      std::fill(to + 1 + to[0], to + 1 + spans_, begin - first);
      const size_t bytes = static_cast<size_t>(begin - first) * row;
      std::copy_n(from, bytes, to_vectors);
      from += bytes;
      to += record;
      to_vectors += static_cast<size_t>(slots) * row;
    }
  }
  slots_.set(queue, all, record, slots, width, type);
  groups_.clear();
}

/// Returns a copy of an index on a device, as an index on the host.
SpanIndex SpanIndex::on_host() const {
  SpanIndex here(spans_, most_);
  const SlottedSpans from = slots_.view();
  const SpanSlots::OnHost all = slots_.on_host();
  here.common_ = all.common;
  const size_t row = bytes_of(from.type, from.width);
  for (int64_t b = 0; b < from.blocks; ++b) {
    const auto record =
        std::span<const int32_t>(all.records)
            .subspan(static_cast<size_t>(b * from.record), static_cast<size_t>(from.record));
    const SpanTokens::Block block = SpanTokens::block_of(record, spans_);
    Group& group = here.open_group();
    const auto first = static_cast<int32_t>(group.count());
    for (const int32_t end : block.ends) group.span_ends.push_back(first + end);
    const size_t count = block.tokens.size() * row;
    group.vectors.append_stored(std::span<const uint8_t>(all.vectors)
                                    .subspan(static_cast<size_t>(b * from.slots) * row, count),
                                from.type);
    here.end_block();
  }
  return here;
}

/// Writes the dot product of each query and common_ to memory.common. It must be added to dot
/// products with stored vectors. memory.common is empty if nothing was subtracted from the vectors.
void SpanIndex::find_common_products(std::span<const float> queries, SpanSearch& memory) const {
  memory.common.clear();
  for (size_t at = 0; !common_.empty() && at < queries.size(); at += common_.size()) {
    memory.common.push_back(std::inner_product(common_.begin(), common_.end(),
                                               queries.begin() + static_cast<int64_t>(at), 0.0f));
  }
}

/// Calls use(group, first, dots) for every group. `first` is the number of the group's first block,
/// and `dots` are the dot products [count, vectors of the group].
template <class Use>
void SpanIndex::multiply(std::span<const float> queries, int64_t count, SpanSearch& memory,
                         const Use& use) const {
  find_common_products(queries, memory);
  if (count <= kMatvecMaxRows) {
    multiply_few(queries, count, memory, use);
  } else {
    multiply_many(queries, count, memory, use);
  }
}

/// Implements multiply() for few queries, such as one generated token. One parallel call processes
/// the whole index, because starting a call takes as long as the work of a group.
template <class Use>
void SpanIndex::multiply_few(std::span<const float> queries, int64_t count, SpanSearch& memory,
                             const Use& use) const {
  const int64_t width = std::ssize(queries) / count;
  memory.decode.assign(queries.data(), count, width);
  float* next = host(memory.dots.resize(host_queue(), count * vectors())).data();
  memory.jobs.clear();
  for (const Group& group : groups_) {
    memory.jobs.push_back({group.vectors.rows(width), next});
    next += count * group.count();
  }
  matvec(memory.jobs, memory.decode);
  parallel_for(std::ssize(groups_), [&](int64_t g, int) {
    const Group& group = nth(groups_, g);
    float* const own = nth(memory.jobs, g).y;
    group.add(memory.common, own);
    use(group, g * static_cast<int64_t>(kGroupBlocks), own);
  });
}

template <class Use>
void SpanIndex::multiply_many(std::span<const float> queries, int64_t count, SpanSearch& memory,
                              const Use& use) const {
  LinearInput& rows = memory.many;
  rows.assign(queries.data(), count, std::ssize(queries) / count);
  int64_t first = 0;
  for (const Group& group : groups_) {
    LinearJob job;
    job.weight = group.vectors.rows(rows.cols());
    job.y = host(memory.dots.resize(host_queue(), count * group.count())).data();
    linear(rows, job, job.weight.type == DType::F32 ? Compute::kF32 : Compute::kBest);
    group.add(memory.common, job.y);
    use(group, first, job.y);
    first += std::ssize(group.block_ends);
  }
}

/// Adds common[q] to every dot product of query q.
void SpanIndex::Group::add(std::span<const float> common, float* dots) const {
  for (const float own : common) {
    for (float* end = dots + count(); dots != end; ++dots) *dots += own;
  }
}

/// Writes the scores of the group's blocks. dots [queries, count()] are the dot products with all
/// vectors of the group. With kMax, the first row must already hold the maximum over the queries
/// for every vector.
void SpanIndex::Group::raise(const float* dots, int64_t queries, SpanSimilarity rule,
                             float* scores) const {
  LH_ASSERT(dots != nullptr);  // a group has at least one vector
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

/// Writes the dot products of one query to `to`, for all rows of the group's blocks. `block` and
/// `row` are the distances between blocks and between rows in `to`.
void SpanIndex::Group::add_rows(const float* dots, SpanSimilarity rule, float* to, int64_t block,
                                int64_t row) const {
  size_t span = 0;
  int32_t v = 0;
  for (const int32_t end : block_ends) {
    const size_t first = span;
    const int32_t begin = v;
    for (; span < static_cast<size_t>(end); ++span) {
      for (; v < span_ends[span]; ++v) {
        const auto at =
            rule == SpanSimilarity::kSum ? static_cast<int64_t>(span - first) : int64_t{v} - begin;
        to[at * row] += dots[v];
      }
    }
    to += block;
  }
}

void SpanIndex::Group::archive(Archive& archive) {
  vectors.archive(archive);
  archive.array(span_ends);
  archive.array(block_ends);
}

bool SpanIndex::Group::makes_sense(int64_t width, bool last) const {
  const size_t blocks = block_ends.size();
  const int64_t elements = vectors.elements();
  return elements % width == 0 && blocks > 0 && blocks <= kGroupBlocks &&
         (last || blocks == kGroupBlocks) &&
         ascends_to(span_ends, static_cast<size_t>(elements / width)) &&
         ascends_to(block_ends, span_ends.size());
}

void SpanIndex::archive(Archive& archive, int64_t width) {
  constexpr std::string_view kDamage = "the index of blocks contradicts itself";
  if (!archive.loading() && slots_.blocks() > 0) return on_host().archive(archive, width);
  archive.array(common_);
  archive.expect(common_.empty() || std::ssize(common_) == width, kDamage);
  uint64_t count = groups_.size();
  archive.number(count);
  if (!archive.loading()) {
    for (Group& group : groups_) group.archive(archive);
    return;
  }
  groups_.clear();
  slots_ = {};
  blocks_ = 0;
  // The vector grows step by step, because a damaged file may contain a huge `count`.
  for (; count > 0; --count) {
    Group group;
    group.archive(archive);
    archive.expect(group.makes_sense(width, count == 1) && within(group.span_ends, most_) &&
                       within(group.block_ends, spans_),
                   kDamage);
    blocks_ += std::ssize(group.block_ends);
    groups_.push_back(std::move(group));
  }
}

}  // namespace longhaul
