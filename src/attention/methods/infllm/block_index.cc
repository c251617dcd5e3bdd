#include "attention/methods/infllm/block_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/on_device.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

/// The best k blocks are searched among the kCandidates * k blocks with the highest scores of the
/// 4-bit copy. One of the best blocks is missed only if rounding to 4 bits ranks it behind all
/// these blocks.
constexpr int64_t kCandidates = 8;
constexpr DType kCopy = DType::Q4_0;

}  // namespace

BlockIndex::BlockIndex(int64_t heads, int64_t vectors, int64_t head_dim)
    : heads_(heads),
      count_(vectors),
      head_dim_(head_dim),
      has_copy_(columns() % traits(kCopy).block_size == 0) {}

void BlockIndex::append(Queue& queue, View<const float> added, DType type) {
  LH_ASSERT(added.size() % width() == 0);
  if (!queue.on_host()) move_to_device(queue);
  int64_t next = blocks();
  vectors_.append(queue, added, type);
  for (; has_copy_ && next < blocks(); ++next) copy_block(next);
}

void BlockIndex::copy_block(int64_t block) {
  thread_local std::vector<float> x;
  x.resize(static_cast<size_t>(width()));
  vectors_.read(block * width(), x);
  if (block == 0) common_ = x;
  for (int64_t i = 0; i < width(); ++i) {
    const int64_t of_head = i - i % (count_ * head_dim_);
    x[static_cast<size_t>(i)] -= common_[static_cast<size_t>(of_head + i % head_dim_)];
  }
  // Damaged weights can cause NaN, infinity or huge numbers, which Q4_0 cannot represent.
  has_copy_ = std::all_of(x.begin(), x.end(),
                          [](float e) { return std::abs(e) <= KeyVectors::kLargestQ4_0; });
  if (has_copy_) copy_.append(host_queue(), View<const float>(x), kCopy);
}

RowList BlockIndex::top(Queue& queue, View<const float> query, int64_t k, BlockSearch& memory) {
  LH_ASSERT(query.size() == heads_ * head_dim_);
  const RowsToKeep best{.count = k};
  if (k == 0 || blocks() <= k) {
    fill(queue, memory.scores.resize(queue, blocks()), 0);
    return select_rows(queue, memory.scores.view(), best, memory.best);
  }
  if (!queue.on_host()) return top_on_device(queue, query, k, memory);
  const TensorView all = vectors_.rows(columns());
  if (!has_copy_ || blocks() <= kCandidates * k) {
    return select_rows(queue, scores(queue, all, query, memory), best, memory.best);
  }
  const TensorView copies = copy_.rows(columns());
  const auto candidates =
      host_rows(select_rows(queue, scores(queue, copies, query, memory),
                            RowsToKeep{.count = kCandidates * k}, memory.first));
  const size_t bytes = bytes_of(all.type, width());
  std::byte* const gathered =
      host(memory.candidates.resize(queue, kCandidates * k * static_cast<int64_t>(bytes))).data();
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::memcpy(gathered + i * bytes, all.data + static_cast<size_t>(candidates[i]) * bytes, bytes);
  }
  const TensorView decode = rows(gathered, all.type, kCandidates * k);
  const RowList chosen =
      select_rows(queue, scores(queue, decode, query, memory), best, memory.best);
  const View<int32_t> blocks = memory.blocks.resize(queue, k);
  for (int64_t i = 0; i < k; ++i) {
    const int32_t candidate = host(chosen.rows)[static_cast<size_t>(i)];
    host(blocks)[static_cast<size_t>(i)] = candidates[static_cast<size_t>(candidate)];
  }
  return {blocks, {}};
}

/// Moves the vectors to the device. An index on a device has no 4-bit copy, because a search of the
/// exact vectors is equally fast there.
void BlockIndex::move_to_device(Queue& queue) {
  vectors_.move_to(queue);
  has_copy_ = false;
  copy_.clear();
}

RowList BlockIndex::top_on_device(Queue& queue, View<const float> query, int64_t k,
                                  BlockSearch& memory) {
  move_to_device(queue);
  const View<float> found = memory.scores.resize(queue, blocks());
  if (!on_device(kBlockScores, queue, vectors(), query, found)) {
    HostStage on(queue);
    const View<const uint8_t> bytes = on(vectors_.stored());
    const auto* const data = reinterpret_cast<const std::byte*>(host(bytes).data());
    BlockSearch here;
    copy(host_queue(), scores(host_queue(), rows(data, vectors_.type(), blocks()), on(query), here),
         on(found));
  }
  all_reduce(queue, found);  // adds the scores of the heads of other devices
  return select_rows(queue, found, {.count = k}, memory.best);
}

/// Returns a view of the blocks as a matrix with columns() columns.
TensorView BlockIndex::rows(const std::byte* data, DType type, int64_t blocks) const {
  TensorView view;
  view.data = data;
  view.type = type;
  view.rank = 2;
  view.shape = {blocks * width() / columns(), columns(), 1, 1};
  return view;
}

/// Returns the score of every block in `rows`.
View<const float> BlockIndex::scores(Queue& queue, const TensorView& rows, View<const float> query,
                                     BlockSearch& memory) const {
  const int64_t n = rows.rows(), blocks = n * columns() / width();
  const View<float> result = memory.scores.resize(queue, blocks);
  float* const scores = host(result).data();
  const float* const q = host(query).data();
  ActivationRows& x = memory.query;
  if (count_ == 1) {
    x.assign(q, 1, columns());
    matvec(rows, x, scores);
    return result;
  }
  // The queries of several heads are multiplied by the vectors of all heads at once, so that the
  // index is read fewer times.
  fill(queue, result, 0);
  float* const dots = host(memory.dots.resize(queue, std::min(heads_, kMatvecMaxRows) * n)).data();
  for (int64_t first = 0; first < heads_; first += kMatvecMaxRows) {
    const int64_t some = std::min(heads_ - first, kMatvecMaxRows);
    x.assign(q + first * head_dim_, some, head_dim_);
    matvec(rows, x, dots);
    for (int64_t h = 0; h < some; ++h) {
      for (int64_t b = 0; b < blocks; ++b) {
        const float* of_block = dots + h * n + (b * heads_ + first + h) * count_;
        scores[b] += *std::max_element(of_block, of_block + count_);
      }
    }
  }
  return result;
}

size_t BlockIndex::bytes_for(int64_t blocks, DType type) const {
  return bytes_of(type, blocks * width()) + (has_copy_ ? bytes_of(kCopy, blocks * width()) : 0);
}

void BlockIndex::archive(Archive& archive) {
  vectors_.archive(archive);
  if (!archive.loading()) return;
  archive.expect(vectors_.type() != DType::Q4_0 && vectors_.elements() % width() == 0,
                 "an index of parts of blocks or another type");
  copy_.clear();
  for (int64_t block = 0; has_copy_ && block < blocks(); ++block) copy_block(block);
}

}  // namespace longhaul
