// Choices that stay on a GPU from the scores to attention, compared with the host's: votes and
// spans, lines and blocks of sparse prompts, and expected attention of future queries.

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/methods/expectedattention/expected_attention.h"
#include "attention/methods/flexprefill/flex_blocks.h"
#include "attention/methods/reattention/votes.h"
#include "attention/methods/xattention/antidiagonal_blocks.h"
#include "base/on_device.h"
#include "cuda/paged_heads.h"
#include "ops/attention/gather_lists.h"
#include "ops/choose/tile_lists.h"
#include "ops/core/devices.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/mean_keys.h"

namespace longhaul::cuda {
namespace {

Queue& gpu() {
  static Queue queue = open_device("cuda");
  return queue;
}

/// Values on the host and on the GPU.
template <class T>
class Both {
 public:
  explicit Both(std::vector<T> numbers) : here_(std::move(numbers)) {
    const View<T> to = there_.resize(gpu(), std::ssize(here_));
    gpu().device().upload(here_.data(), to.address(), here_.size() * sizeof(T));
  }
  View<T> here() { return std::span<T>(here_); }
  View<T> there() { return there_.view(); }

 private:
  std::vector<T> here_;
  Array<T> there_;
};

template <class T>
std::vector<T> read(View<const T> view) {
  HostStage on(gpu());
  const auto numbers = host(on(view));
  return {numbers.begin(), numbers.end()};
}
std::vector<int32_t> read(const RowList& list) {
  HostStage on(gpu());
  const auto rows = host_rows(on_host(on, list));
  return {rows.begin(), rows.end()};
}

TEST(CudaVotes, AndSpansEqualTheHosts) {
  std::mt19937 random(1);
  VoteCount count_here, count_there;
  SpanRows spans_here, spans_there;
  for (const int64_t numbers : {40, 3000, 200000}) {
    for (const size_t cast : {1, 128, 70000}) {
      for (const int64_t k : {1, 127, 3000}) {
        std::vector<int32_t> votes(cast);
        for (int32_t& vote : votes) {
          vote = static_cast<int32_t>(static_cast<int64_t>(random()) % (numbers + 1) - 1);
          if (random() % 2 == 0) vote = std::min(vote, 200);
        }
        Both<int32_t> both(votes);
        const int64_t waits = gpu().device().waits();
        const RowList there = most_voted(gpu(), both.there(), numbers, k, count_there);
        const RowList spans = expand_spans(gpu(), there, 32, numbers, 5, spans_there);
        EXPECT_EQ(gpu().device().waits(), waits);
        const RowList here = most_voted(host_queue(), both.here(), numbers, k, count_here);
        EXPECT_EQ(read(there), read(here)) << numbers << ", " << cast << ", " << k;
        EXPECT_EQ(read(spans), read(expand_spans(host_queue(), here, 32, numbers, 5, spans_here)));
      }
    }
  }
}

std::vector<float> peaks(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> scores(static_cast<size_t>(count));
  for (float& x : scores) {
    x = static_cast<float>(random() % 1000) / 1000 + (random() % 60 == 0 ? 5.0f : 0.0f);
  }
  return scores;
}

/// Storage of keys and values.
struct Lying {
  KvType type;
  bool slab = false;    ///< in a slab, like the KV store's
  size_t gathered = 0;  ///< number of lists that the GPU copies if it can
};

/// Replaces the first `some` lists by copies on a Hopper card.
void gather(std::vector<PagedRows>& lists, size_t some, int64_t keys) {
  if (some == 0 || static_cast<GpuQueue&>(gpu().device()).capability() != 90) return;
  const std::vector<PagedRows> stored = lists;
  ASSERT_EQ(on_device(kGatherLists, gpu(), std::span(stored).first(some), keys, 1 << 20,
                      std::span(lists).first(some)),
            static_cast<int>(some));
  EXPECT_EQ(on_device(kReadsMasks, gpu(), lists[0]), lists[0].head_dim <= 128);
}

/// Heads with an A-shape, lines and blocks in one call of attention.
void test_tiles(const TileGrid& grid, int head_dim, const Lying& lying) {
  SCOPED_TRACE(testing::Message() << grid.begin << " + " << grid.rows << ", tile " << grid.tile
                                  << ", dim " << head_dim << ", " << name_of(lying.type)
                                  << (lying.slab ? ", slab, " : ", ") << lying.gathered
                                  << " gathered");
  constexpr int kHeads = 4;  // the last one is not attended
  const PagedHeads pages(lying.type, head_dim, 2, grid.keys(), 2, false,
                         lying.slab ? &gpu().device() : nullptr);
  const auto numbers = static_cast<size_t>(grid.rows * kHeads * head_dim);
  Both<float> q(exact_floats(numbers, 3)), columns(peaks(grid.keys(), 4));
  Both<float> diagonals(peaks(grid.keys(), 5));
  std::vector<uint8_t> marks(static_cast<size_t>(grid.tiles() * grid.blocks()));
  for (size_t i = 0; i < marks.size(); ++i) marks[i] = i * 7 % 5 < 2;
  Both<uint8_t> blocks(marks);
  Both<float> out(std::vector<float>(numbers, 0.0f));
  Both<int64_t> counted({0});
  LineChoice lines_here, lines_there;
  TileLists lists_here, lists_there;

  const auto attend_at = [&](Queue& queue, bool there, LineChoice& lines, TileLists& memory) {
    const auto at = [&](auto& both) { return there ? both.there() : both.here(); };
    const LineTask task{at(columns), at(diagonals), 90, 300, &lines};
    choose_lines(queue, {&task, 1}, grid.tile);
    std::vector<TileRule> rules(kHeads);
    rules[0] = {.kind = TileRule::Kind::kAShape, .sink = 20, .window = 100};
    rules[1].kind = TileRule::Kind::kLines;
    rules[1].lines = &lines;
    rules[2].kind = TileRule::Kind::kBlocks;
    rules[2].blocks = at(blocks);
    std::vector<PagedRows> lists;
    for (size_t h = 0; h < 2; ++h) lists.push_back(there ? pages.on_device(h) : pages.on_host(h));
    if (there) gather(lists, lying.gathered, grid.keys());
    const auto tasks = tile_lists(queue, grid, 0, grid.rows, rules, lists, memory);
    const View<const float> form[] = {at(q)};
    AttendCall call;
    call.queue = &queue;
    call.queries = form;
    call.heads = kHeads;
    call.head_dim = head_dim;
    call.scale = 0.1f;
    call.compute = AttendCompute::kF32;
    call.out = at(out);
    if (there) call.counted = counted.there();
    attend(call, tasks);
    return visible_pairs(tasks);
  };
  const int64_t waits = gpu().device().waits();
  const int64_t pairs = attend_at(gpu(), true, lines_there, lists_there);
  EXPECT_EQ(gpu().device().waits(), waits);
  const int64_t expected = attend_at(host_queue(), false, lines_here, lists_here);
  EXPECT_EQ(pairs + read<int64_t>(counted.there())[0], expected);
  expect_close(read<float>(out.there()), read<float>(out.here()), 1e-2, 1e-2);
}

TEST(CudaTileLists, RowsSeeWhatTheySeeOnTheHost) {
  for (const int dim : {64, 128}) {
    for (const bool slab : {false, true}) {
      test_tiles({64, 0, 200}, dim, {DType::BF16, slab});
      test_tiles({64, 1000, 200}, dim, {DType::BF16, slab});
      test_tiles({128, 0, 300}, dim, {DType::BF16, slab});
    }
    test_tiles({128, 3001, 515}, dim, {DType::BF16});
  }
  test_tiles({64, 0, 129}, 80, {DType::BF16, true});
  test_tiles({64, 64, 1}, 96, {DType::BF16, true});
  test_tiles({64, 700, 460}, 112, {DType::BF16, true});
}

/// Gathers both lists, or only the list with lines while the other stays in block types.
TEST(CudaTileLists, RowsSeeInGatheredListsWhatTheySeeOnTheHost) {
  for (const KvType& type : {KvType(DType::Q8_0), KvType(DType::Q4_0), KvType(DType::F16),
                             KvType(DType::Q8_0, DType::Q4_0), KvType(DType::BF16, DType::Q8_0)}) {
    for (const size_t gathered : {size_t{0}, size_t{1}, size_t{2}}) {
      test_tiles({64, 0, 200}, 128, {type, false, gathered});
      test_tiles({64, 1003, 460}, 128, {type, false, gathered});
      test_tiles({64, 3000, 65}, 64, {type, false, gathered});
      test_tiles({128, 3001, 515}, 128, {type, false, gathered});
    }
  }
  test_tiles({64, 700, 460}, 96, {DType::Q8_0, false, 2});
  test_tiles({64, 700, 460}, 256, {DType::Q8_0, false, 2});
  test_tiles({128, 700, 460}, 256, {DType::Q4_0, false, 1});
}

/// A few marks may differ because of rounding.
void expect_about_the_same(const std::vector<uint8_t>& got, const std::vector<uint8_t>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  size_t different = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(got[i], 1);
    different += got[i] != expected[i];
  }
  EXPECT_LE(different, got.size() / 50);
}

TEST(CudaFlexBlocks, EqualTheHosts) {
  constexpr int kHeads = 3, kDim = 64;
  for (const TileGrid& grid : {TileGrid{128, 0, 3000}, TileGrid{128, 4001, 900}}) {
    Both<float> q(random_floats(static_cast<size_t>(grid.rows * kHeads * kDim), 6));
    Both<float> means(random_floats(static_cast<size_t>(grid.blocks() * kDim), 7, 0.3f));
    std::vector<float> sums = peaks(grid.keys(), 8);
    for (float& x : sums) x *= 128 / (0.6f * static_cast<float>(grid.keys()));
    Both<float> lines(sums);
    for (const double distance : {0.0, 0.3, 2.0}) {
      const FlexRule rule{0.8, distance, 2, 0.05f, 128};
      const auto marks = static_cast<size_t>(grid.tiles() * grid.blocks());
      Both<uint8_t> seen(std::vector<uint8_t>(kHeads * marks, 9));
      const auto choose = [&](Queue& queue, bool there) {
        const auto at = [&](auto& both) { return there ? both.there() : both.here(); };
        std::vector<FlexHead> heads;
        for (int h = 0; h < kHeads; ++h) {
          const auto each = static_cast<int64_t>(marks);
          heads.push_back({h, at(lines), at(lines), at(means), at(seen).part(h * each, each)});
        }
        FlexMemory memory;
        choose_flex_blocks(queue, {at(q), kHeads, kDim, grid}, rule, heads, memory);
      };
      const int64_t waits = gpu().device().waits();
      choose(gpu(), true);
      EXPECT_EQ(gpu().device().waits(), waits);
      choose(host_queue(), false);
      expect_about_the_same(read<uint8_t>(seen.there()), read<uint8_t>(seen.here()));
    }
  }
}

void test_antidiagonal_blocks(int stride) {
  constexpr int kGroup = 2, kHeads = 4, kDim = 64;
  const std::vector<double> shares = {0.3, 0.9};
  for (const TileGrid& grid :
       {TileGrid{128, 0, 1000}, TileGrid{128, 1003, 700}, TileGrid{128, 100, 5000}}) {
    const PagedHeads pages(DType::BF16, kDim, 2, grid.keys(), 9);
    Both<float> q(exact_floats(static_cast<size_t>(grid.rows * kHeads * kDim), 10));
    const int64_t each = kGroup * grid.tiles() * grid.blocks();
    Both<uint8_t> seen(std::vector<uint8_t>(static_cast<size_t>(2 * each), 9));
    const auto choose = [&](Queue& queue, bool there) {
      const auto at = [&](auto& both) { return there ? both.there() : both.here(); };
      const View<const float> form[] = {at(q)};
      AttendCall call;
      call.queue = &queue;
      call.queries = form;
      call.heads = kHeads;
      call.head_dim = kDim;
      call.scale = 0.125f;
      call.compute = AttendCompute::kF32;
      std::vector<AntidiagonalHeads> heads;
      for (size_t h = 0; h < 2; ++h) {
        const auto first = static_cast<int64_t>(h);
        heads.push_back({static_cast<int>(h) * kGroup, kGroup,
                         there ? pages.on_device(h) : pages.on_host(h), shares,
                         at(seen).part(first * each, each)});
      }
      AntidiagonalMemory memory;
      EXPECT_TRUE(choose_antidiagonal_blocks(call, grid, {stride, 1}, heads, memory));
    };
    const int64_t waits = gpu().device().waits();
    choose(gpu(), true);
    EXPECT_EQ(gpu().device().waits(), waits);
    choose(host_queue(), false);
    expect_about_the_same(read<uint8_t>(seen.there()), read<uint8_t>(seen.here()));
  }
}

TEST(CudaAntidiagonalBlocks, EqualTheHosts) {
  test_antidiagonal_blocks(8);
  test_antidiagonal_blocks(16);
}

TEST(CudaExpectedAttention, EqualsTheHosts) {
  constexpr int kHeads = 6, kGroup = 3, kRows = 300;
  for (const int dim : {64, 96, 128}) {
    for (const KvType& type : {KvType(DType::BF16), KvType(DType::F32), KvType(DType::Q8_0),
                               KvType(DType::Q4_0), KvType(DType::Q8_0, DType::Q4_0)}) {
      for (const bool covariance : {false, true}) {
        SCOPED_TRACE(testing::Message() << dim << ", " << name_of(type));
        constexpr int64_t kKeys = 1000, kFirst = 5;
        const PagedHeads pages(type, dim, 2, kKeys, 11);
        std::vector<float> numbers = random_floats(static_cast<size_t>(kRows * kHeads * dim), 12);
        for (size_t i = 0; i < numbers.size(); ++i) {
          // Small compared with the mean.
          numbers[i] = 0.3f * numbers[i] + static_cast<float>(i % 5) - 2;
        }
        Both<float> q(numbers), scores(std::vector<float>(static_cast<size_t>(kKeys - kFirst)));
        RopeTable rope;
        for (int t = 0; t < dim / 4; ++t) {  // half of each head is not rotated
          rope.inverse_frequency.push_back(std::pow(1e4, -4.0 * t / dim));
        }
        for (const bool values : {false, true}) {
          const auto score = [&](Queue& queue, bool there) {
            const auto at = [&](auto& both) { return there ? both.there() : both.here(); };
            QueryMoments moments{kHeads, dim, covariance};
            const int64_t first = 130 * moments.width();
            add_query_moments(queue, at(q).part(0, first), moments);
            add_query_moments(queue, at(q).from(first), moments);
            EXPECT_EQ(moments.rows, kRows);
            const ExpectedQueries queries{.moments = &moments,
                                          .rope = &rope,
                                          .first = kKeys,
                                          .positions = 64,
                                          .scale = 0.05f,
                                          .values = values,
                                          .epsilon = 0.01};
            expected_attention(queue, queries, there ? pages.on_device(1) : pages.on_host(1),
                               kFirst, kGroup, kGroup, at(scores));
          };
          const int64_t waits = gpu().device().waits();
          score(gpu(), true);
          EXPECT_EQ(gpu().device().waits(), waits);
          score(host_queue(), false);
          expect_close(read<float>(scores.there()), read<float>(scores.here()), 2e-3, 1e-7);
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
