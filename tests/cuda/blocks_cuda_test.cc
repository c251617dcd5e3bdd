// Look-up of blocks of old tokens on a GPU (InfLLM), and blocks chosen by means, compared with the
// host's, without a wait.

#include <gtest/gtest.h>

#include <cmath>

#include "attention/methods/infllm/block_index.h"
#include "attention/methods/infllm/block_representatives.h"
#include "cuda/paged_heads.h"
#include "cuda/queued.h"
#include "ops/attention/sliding_rows.h"
#include "ops/blocks/block_rows.h"
#include "ops/choose/mean_blocks.h"

namespace longhaul::cuda {
namespace {

class CudaBlocks : public OnQueue {};

TEST_F(CudaBlocks, VectorsAreStoredAsOnTheHost) {
  for (const DType type : {DType::F32, DType::BF16, DType::Q4_0}) {
    for (const size_t count : {size_t{32}, size_t{4096}, size_t{32 * 33}}) {
      std::vector<float> x = random_floats(count, 1, 3);
      x[7] = x[9] = -x[5];  // the largest magnitude occurs twice; the sign of the first counts
      for (size_t i = 0; i < 32; ++i) x[count - 32 + i] = 0;
      if (type == DType::Q4_0) x[3] = NAN, x[20] = INFINITY;
      std::vector<uint8_t> bytes(bytes_of(type, static_cast<int64_t>(count)));
      store_vectors(host_queue(), view_of(x), type, std::span<uint8_t>(bytes));
      const View<float> from = there(x);
      const View<uint8_t> to = empty_there<uint8_t>(std::ssize(bytes));
      EXPECT_EQ(waits_in([&] { store_vectors(queue(), from, type, to); }), 0);
      EXPECT_EQ(here(to), bytes) << static_cast<int>(type) << ' ' << count;
    }
  }
}

struct IndexCase {
  int64_t heads, vectors, head_dim;
  DType type;
};

/// The sum over heads of the largest product, in double precision.
double score(const IndexCase& c, const float* block, const std::vector<float>& query) {
  double sum = 0;
  for (int64_t h = 0; h < c.heads; ++h) {
    double best = -INFINITY;
    for (int64_t v = 0; v < c.vectors; ++v) {
      double dot = 0;
      for (int64_t t = 0; t < c.head_dim; ++t) {
        dot += double{block[(h * c.vectors + v) * c.head_dim + t]} *
               double{query[static_cast<size_t>(h * c.head_dim + t)]};
      }
      best = std::max(best, dot);
    }
    sum += best;
  }
  return sum;
}

TEST_F(CudaBlocks, AnIndexFindsTheBest) {
  for (const IndexCase& c : {IndexCase{32, 1, 128, DType::BF16}, IndexCase{6, 1, 64, DType::BF16},
                             IndexCase{9, 4, 64, DType::BF16}, IndexCase{3, 2, 96, DType::F32},
                             IndexCase{2, 5, 24, DType::BF16}, IndexCase{1, 1, 7, DType::F32}}) {
    const int64_t width = c.heads * c.vectors * c.head_dim, blocks = 300;
    const std::vector<float> vectors = exact_floats(static_cast<size_t>(blocks * width), 2);
    const std::vector<float> query = random_floats(static_cast<size_t>(c.heads * c.head_dim), 3);
    const View<float> from = there(vectors), by = there(query);
    BlockIndex index(c.heads, c.vectors, c.head_dim);
    std::vector<double> scores;
    for (int64_t b = 0; b < blocks; ++b) {
      EXPECT_EQ(waits_in([&] { index.append(queue(), from.part(b * width, width), c.type); }), 0);
      scores.push_back(score(c, vectors.data() + b * width, query));
    }
    std::vector<double> sorted = scores;
    std::sort(sorted.rbegin(), sorted.rend());
    BlockSearch memory;
    for (const int64_t k : {0, 1, 16, 299, 300}) {
      RowList best;
      EXPECT_EQ(waits_in([&] { best = index.top(queue(), by, k, memory); }), 0);
      const std::vector<int32_t> chosen = here(best.rows);
      ASSERT_EQ(std::ssize(chosen), k);
      EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end(), std::less_equal<>())) << k;
      for (const int32_t b : chosen) {
        ASSERT_TRUE(b >= 0 && b < blocks);
        EXPECT_GT(scores[static_cast<size_t>(b)], sorted[static_cast<size_t>(k) - 1] - 1e-3);
      }
    }
  }
}

/// Blocks of the first layer are equal where their representatives are the same words. Of equal
/// blocks the lowest are found, as on the host.
TEST_F(CudaBlocks, OfEqualBlocksTheLowestAreFound) {
  for (const IndexCase& c : {IndexCase{32, 1, 128, DType::BF16}, IndexCase{9, 4, 64, DType::BF16},
                             IndexCase{3, 2, 96, DType::F32}}) {
    constexpr int64_t kBlocks = 300, kKinds = 3;
    const int64_t width = c.heads * c.vectors * c.head_dim;
    const std::vector<float> kinds = exact_floats(static_cast<size_t>(kKinds * width), 2);
    const std::vector<float> query = random_floats(static_cast<size_t>(c.heads * c.head_dim), 3);
    const View<float> from = there(kinds), by = there(query);
    BlockIndex index(c.heads, c.vectors, c.head_dim);
    std::vector<double> scores;
    for (int64_t kind = 0; kind < kKinds; ++kind) {
      scores.push_back(score(c, kinds.data() + kind * width, query));
    }
    for (int64_t b = 0; b < kBlocks; ++b) {
      index.append(queue(), from.part(b % kKinds * width, width), c.type);
    }
    const int64_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    BlockSearch memory;
    for (const int64_t k : {1, 5, 16, 99}) {
      const std::vector<int32_t> chosen = here(index.top(queue(), by, k, memory).rows);
      ASSERT_EQ(std::ssize(chosen), k);
      for (int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(chosen[static_cast<size_t>(i)], best + kKinds * i) << c.heads << " k " << k;
      }
    }
  }
}

TEST_F(CudaBlocks, RepresentativesAreTheHosts) {
  constexpr int64_t kTokens = 128, kFirst = 77, kBlocks = 3;
  constexpr int kHeads = 6, kLists = 2;
  for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0}) {
    const PagedHeads lists(type, 64, kLists, kFirst + kBlocks * kTokens, 4);
    const PagedRows on_host[] = {lists.on_host(0), lists.on_host(1)};
    const PagedRows on_device[] = {lists.on_device(0), lists.on_device(1)};
    std::vector<float> votes = random_floats(kBlocks * kTokens * kHeads, 5);
    for (float& x : votes) x = std::round(4 * x);  // makes ties
    const View<float> votes_there = there(votes);
    for (const int64_t count : {1, 4, 128}) {
      for (const bool mean : {true, false}) {
        RepresentativesCall call{on_host, kFirst, view_of(votes), kHeads, count, mean, kBlocks};
        RepresentativesMemory memory;
        std::vector<float> out(static_cast<size_t>(kBlocks * kHeads * (mean ? 1 : count) * 64));
        block_representatives(host_queue(), call, memory, view_of(out));
        call.lists = on_device;
        call.votes = votes_there;
        const View<float> out_there = empty_there<float>(std::ssize(out));
        EXPECT_EQ(waits_in([&] { block_representatives(queue(), call, memory, out_there); }), 0);
        expect_close(here(out_there), out, 1e-6, 1e-6);
      }
    }
  }
}

TEST_F(CudaBlocks, RowsAreTheHosts) {
  const std::vector<int32_t> blocks{0, 3, 4, 900};
  const View<int32_t> blocks_there = there(blocks);
  for (const int64_t first : {0, 5, 128}) {
    for (const int64_t block : {1, 16, 128}) {
      Array<int32_t> memory, memory_there;
      const RowList list = block_rows(host_queue(), first, {std::span<const int32_t>(blocks), {}},
                                      block, first, memory);
      RowList got;
      EXPECT_EQ(waits_in([&] {
                  got = block_rows(queue(), first, {blocks_there, {}}, block, first, memory_there);
                }),
                0);
      EXPECT_EQ(got.rows.place(), queue().place());
      EXPECT_EQ(here(got.rows), here(list.rows));
    }
  }
}

TEST_F(CudaBlocks, RowsOfAWindowSlide) {
  SlidingRows host_rows(3), rows(3);
  const std::vector<float> x = random_floats(3 * 40, 6);
  const View<float> x_there = there(x);
  EXPECT_EQ(waits_in([&] {
              for (int64_t step = 0; step < 50; ++step) {
                rows.append_zeros(queue(), 40);
                host_rows.append_zeros(host_queue(), 40);
                const int64_t first = rows.rows() - 40;
                add_transposed(queue(), x_there, 40, rows.part(first, 40));
                add_transposed(host_queue(), std::span<const float>(x), 40,
                               host_rows.part(first, 40));
                if (step < 3) continue;
                rows.drop_first(39);
                host_rows.drop_first(39);
              }
            }),
            0);
  EXPECT_EQ(rows.rows(), host_rows.rows());
  EXPECT_EQ(here(rows.part(0, rows.rows())), here(host_rows.part(0, rows.rows())));
}

TEST_F(CudaBlocks, ChosenByMeansAreTheHosts) {
  for (const TileGrid& grid : {TileGrid{64, 0, 1}, TileGrid{64, 0, 700}, TileGrid{16, 37, 2000}}) {
    constexpr int kHeads = 3, kDim = 96;
    const std::vector<float> queries =
        random_floats(static_cast<size_t>(grid.rows * kHeads * kDim), 7);
    const std::vector<float> means = random_floats(static_cast<size_t>(grid.blocks() * kDim), 8);
    const int64_t marks = grid.tiles() * grid.blocks(), first = grid.rows / 3;
    std::vector<std::vector<uint8_t>> seen(2, std::vector<uint8_t>(static_cast<size_t>(marks), 7));
    std::vector<MeanBlocks> tasks, tasks_there;
    for (int t = 0; t < 2; ++t) {
      auto& own = seen[static_cast<size_t>(t)];
      tasks.push_back(
          {2 * t, t == 0 ? 3 : 40, std::span<const float>(means), std::span<uint8_t>(own)});
      tasks_there.push_back({2 * t, t == 0 ? 3 : 40, there(means), there(own)});
    }
    MeanBlockMemory memory;
    const TiledRows rows{std::span<const float>(queries), kHeads, kDim, grid};
    const TiledRows rows_there{there(queries), kHeads, kDim, grid};
    choose_mean_blocks(host_queue(), rows, first, tasks, memory);
    EXPECT_EQ(
        waits_in([&] { choose_mean_blocks(queue(), rows_there, first, tasks_there, memory); }), 0);
    for (size_t t = 0; t < 2; ++t) EXPECT_EQ(here(tasks_there[t].seen), seen[t]) << t;
  }
}

}  // namespace
}  // namespace longhaul::cuda
