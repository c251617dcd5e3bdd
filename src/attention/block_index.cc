#include "attention/block_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/matvec.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

/// The best k are looked for among so many times k blocks that come first in the copy: its rounding
/// would have to move a block past all of those for the best to be missed.
constexpr int64_t kCandidates = 8;
constexpr DType kCopy = DType::Q4_0;

}  // namespace

BlockIndex::BlockIndex(int64_t heads, int64_t vectors, int64_t head_dim)
    : heads_(heads),
      count_(vectors),
      head_dim_(head_dim),
      has_copy_(columns() % traits(kCopy).block_size == 0) {}

void BlockIndex::append(std::span<const float> block, DType type) {
  LH_ASSERT(static_cast<int64_t>(block.size()) == width());
  vectors_.append(block, type);
  if (has_copy_) copy_block(blocks() - 1);
}

void BlockIndex::copy_block(int64_t block) {
  std::vector<float> x(static_cast<size_t>(width()));
  vectors_.read(block * width(), x);
  if (block == 0) common_ = x;
  for (int64_t i = 0; i < width(); ++i) {
    const int64_t of_head = i - i % (count_ * head_dim_);
    x[static_cast<size_t>(i)] -= common_[static_cast<size_t>(of_head + i % head_dim_)];
  }
  // Damaged weights make what is no number, and the copy has no form of it.
  has_copy_ = std::all_of(x.begin(), x.end(),
                          [](float e) { return std::abs(e) <= KeyVectors::kLargestQ4_0; });
  if (has_copy_) copy_.append(x, kCopy);
}

std::vector<int32_t> BlockIndex::top(std::span<const float> query, int64_t k) const {
  LH_ASSERT(static_cast<int64_t>(query.size()) == heads_ * head_dim_);
  const TensorView all = vectors_.rows(columns());
  if (k == 0 || blocks() <= k) return top_indices(std::vector<float>(blocks()), k);
  if (!has_copy_ || blocks() <= kCandidates * k) return top_indices(scores(all, query), k);

  const TensorView copies = copy_.rows(columns());
  const std::vector<int32_t> candidates = top_indices(scores(copies, query), kCandidates * k);
  const size_t bytes = bytes_of(all.type, width());
  std::vector<std::byte> gathered(candidates.size() * bytes);
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::memcpy(gathered.data() + i * bytes, all.data + static_cast<size_t>(candidates[i]) * bytes,
                bytes);
  }
  std::vector<int32_t> best =
      top_indices(scores(rows(gathered.data(), all.type, kCandidates * k), query), k);
  for (int32_t& i : best) i = candidates[static_cast<size_t>(i)];
  return best;
}

/// Blocks as rows of columns().
TensorView BlockIndex::rows(const std::byte* data, DType type, int64_t blocks) const {
  TensorView view;
  view.data = data;
  view.type = type;
  view.rank = 2;
  view.shape = {blocks * width() / columns(), columns(), 1, 1};
  return view;
}

/// The score of every block in `rows`.
std::vector<float> BlockIndex::scores(const TensorView& rows, std::span<const float> query) const {
  const int64_t n = rows.rows();
  ActivationRows x;
  std::vector<float> scores(static_cast<size_t>(n * columns() / width()));
  if (count_ == 1) {
    x.assign(query.data(), 1, columns());
    matvec(rows, x, scores.data());
    return scores;
  }
  // All heads' vectors are multiplied with some heads' queries, for one reading of the index.
  std::vector<float> dots(static_cast<size_t>(std::min(heads_, kMatvecMaxRows) * n));
  for (int64_t first = 0; first < heads_; first += kMatvecMaxRows) {
    const int64_t some = std::min(heads_ - first, kMatvecMaxRows);
    x.assign(query.data() + first * head_dim_, some, head_dim_);
    matvec(rows, x, dots.data());
    for (int64_t h = 0; h < some; ++h) {
      for (size_t b = 0; b < scores.size(); ++b) {
        const int64_t vector = (static_cast<int64_t>(b) * heads_ + first + h) * count_;
        const float* of_block = dots.data() + h * n + vector;
        scores[b] += *std::max_element(of_block, of_block + count_);
      }
    }
  }
  return scores;
}

size_t BlockIndex::bytes_for(int64_t blocks, DType type) const {
  return bytes_of(type, blocks * width()) + (has_copy_ ? bytes_of(kCopy, blocks * width()) : 0);
}

void BlockIndex::save(ByteWriter& out) const { vectors_.save(out); }

void BlockIndex::restore(ByteReader& in) {
  vectors_.restore(in);
  if (vectors_.type() == DType::Q4_0 || vectors_.elements() % width() != 0) {
    user_error("{}: damaged: an index of parts of blocks or another type", in.path().string());
  }
  copy_.clear();
  for (int64_t block = 0; has_copy_ && block < blocks(); ++block) copy_block(block);
}

}  // namespace longhaul
