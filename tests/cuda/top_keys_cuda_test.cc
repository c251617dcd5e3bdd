// The best keys of rows on a GPU compared with the host's.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "cuda/paged_heads.h"
#include "ops/attention/stored_key.h"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/stored_fit.h"

namespace longhaul::cuda {
namespace {

struct TopCase {
  KvType type;
  int head_dim, group, rows, k;
  int64_t begin, count;
};

constexpr int kHeads = 2;

/// Tolerance of scores. For Hadamard-rotated keys in Q4_0, queries of up to 8 rows are rotated and
/// then rounded, with a relative error of up to 2^-9.
double slack_of(const TopCase& c) {
  return c.type.k == kHadamardKeys && c.rows * c.group <= kBlockFlatRows && c.head_dim % 64 == 0
             ? 0.1
             : 1e-4;
}

/// Every key that differs from the host's must have an equally good score.
void expect_as_good(const TopKeysCall& call, const std::vector<TopKeysTask>& tasks,
                    const std::vector<int32_t>& got, double slack) {
  const auto dim = static_cast<size_t>(call.head_dim);
  std::vector<float> key(dim);
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == host(call.keys)[i]) continue;
    ASSERT_GE(got[i], 0) << i;
    const size_t vector = i / static_cast<size_t>(call.k);
    const int head = static_cast<int>(vector % static_cast<size_t>(call.heads));
    const TopKeysTask& task = tasks[static_cast<size_t>(head / tasks.front().head_count)];
    ASSERT_LT(got[i], task.count) << i;
    read_key(task.keys, task.begin + got[i], key.data());
    double score = 0;
    for (size_t t = 0; t < dim; ++t) {
      score +=
          static_cast<double>(key[t]) * static_cast<double>(host(call.queries)[vector * dim + t]);
    }
    EXPECT_NEAR(score, static_cast<double>(host(call.scores)[i]), slack)
        << i << ": " << got[i] << ", not " << host(call.keys)[i];
  }
}

void test_top_keys(const PagedHeads& heads, const TopCase& c, TopRule rule, bool copy_engine) {
  SCOPED_TRACE(name_of(c.type) + ", dim " + std::to_string(c.head_dim) + ", rows " +
               std::to_string(c.rows) + ", heads " + std::to_string(c.group) + ", from " +
               std::to_string(c.begin) + ", keys " + std::to_string(c.count) +
               (rule == TopRule::kTile ? ", tiles" : "") + (copy_engine ? ", copy engine" : ""));
  const int q_heads = kHeads * c.group;
  const auto vectors = static_cast<size_t>(c.rows * q_heads);
  std::vector<float> queries = exact_floats(vectors * static_cast<size_t>(c.head_dim), 4);
  const OnDevice<float> queries_there(queries);
  const size_t numbers = vectors * static_cast<size_t>(c.k);
  std::vector<int32_t> keys(numbers);
  std::vector<float> scores(numbers);
  const OnDevice<int32_t> keys_there(numbers);
  const OnDevice<float> scores_there(numbers);
  TopKeysCall here;
  here.queries = view_of(queries);
  here.heads = q_heads;
  here.head_dim = c.head_dim;
  here.k = c.k;
  here.rule = rule;
  here.compute = AttendCompute::kF32;
  here.keys = std::span<int32_t>(keys);
  here.scores = view_of(scores);
  TopKeysCall there = here;
  there.queries = view_of(queries_there, queries.size());
  there.keys = view_of(keys_there, numbers);
  there.scores = view_of(scores_there, numbers);
  std::vector<TopKeysTask> tasks, tasks_there;
  for (int h = 0; h < kHeads; ++h) {
    tasks.push_back(
        {h * c.group, c.group, 0, c.rows, heads.on_host(static_cast<size_t>(h)), c.begin, c.count});
    tasks_there.push_back(tasks.back());
    tasks_there.back().keys = heads.on_device(static_cast<size_t>(h));
  }
  longhaul::top_keys(here, tasks);
  ScoreScratch scratch;
  ASSERT_TRUE(
      top_keys(nullptr, there, tasks_there, copy_engine ? heads.range() : PageRange{}, scratch));
  // Keys in Q4_0 equal those on the host up to a relative error of 1.1e-4 (encode_exactly()).
  const double relative = c.type.k == DType::Q4_0 ? 2e-4 : 1e-5;
  expect_close(scores_there.get(), scores, relative, slack_of(c));
  expect_as_good(here, tasks, keys_there.get(), std::max(1e-3, 2 * slack_of(c)));
}

void test_top_keys(const TopCase& c, TopRule rule, bool copy_engine) {
  test_top_keys(PagedHeads(c.type, c.head_dim, kHeads, c.begin + c.count, 3), c, rule, copy_engine);
}

TEST(CudaTopKeys, EqualTheHosts) {
  const TopCase cases[] = {
      {DType::BF16, 128, 4, 1, 4, 5, 1000},  {DType::BF16, 128, 4, 100, 4, 5, 3000},
      {DType::BF16, 64, 3, 1, 8, 64, 20000}, {DType::F16, 96, 2, 65, 1, 0, 129},
      {DType::Q8_0, 64, 8, 3, 5, 1, 127},    {DType::F32, 80, 1, 63, 2, 7, 3},
      {DType::BF16, 256, 2, 1, 3, 0, 777},   {DType::BF16, 112, 2, 40, 8, 0, 640},
      {DType::BF16, 128, 32, 1, 4, 0, 5000}, {DType::BF16, 128, 2, 2, 4, 0, 0},
  };
  for (const TopCase& c : cases) {
    for (const TopRule rule : {TopRule::kExact, TopRule::kTile}) test_top_keys(c, rule, false);
  }
}

/// The keys begin anywhere in a page and end within a tile. There are at most 8 rows, or more.
TEST(CudaTopKeys, OfDecodeRowsOverStoredKeysEqualTheHosts) {
  const KvType types[] = {
      DType::Q8_0, DType::Q4_0, {DType::Q8_0, DType::Q4_0}, {DType::Q4_0, DType::Q8_0},
      DType::F16,  DType::F32};
  constexpr int64_t kMostKeys = 6000;
  struct Stretch {
    int64_t begin, count;
  };
  const Stretch stretches[] = {{0, 4096}, {32, kMostKeys - 32}, {5, 3001}, {63, 1}, {17, 130},
                               {49, 0}};
  for (const KvType& type : types) {
    for (const int dim : {64, 80, 96, 112, 128, 256}) {
      if (!type.holds(dim)) continue;
      const PagedHeads heads(type, dim, kHeads, kMostKeys, 3);
      for (const Stretch& s : stretches) {
        for (const TopRule rule : {TopRule::kExact, TopRule::kTile}) {
          test_top_keys(heads, {type, dim, 4, 1, 4, s.begin, s.count}, rule, false);
          test_top_keys(heads, {type, dim, 1, 7, 8, s.begin, s.count}, rule, false);
          test_top_keys(heads, {type, dim, 5, 5, 8, s.begin, s.count}, rule, false);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

/// A call in which heads have keys of different types.
TEST(CudaTopKeys, OfSeveralTypesEqualTheHosts) {
  constexpr int kDim = 128, kBest = 4;
  constexpr int64_t kBegin = 7, kCount = 2000;
  const KvType types[] = {DType::BF16, DType::Q8_0, DType::F16};
  constexpr int kAll = static_cast<int>(std::size(types));
  std::vector<float> queries = exact_floats(size_t{kAll} * kDim, 4);
  const OnDevice<float> queries_there(queries);
  std::vector<float> scores(size_t{kAll} * kBest);
  std::vector<int32_t> keys(scores.size());
  const OnDevice<float> scores_there(scores.size());
  const OnDevice<int32_t> keys_there(keys.size());
  std::vector<PagedHeads> stores;
  std::vector<TopKeysTask> tasks, tasks_there;
  for (const KvType& type : types) stores.emplace_back(type, kDim, 1, kBegin + kCount, 3);
  for (int h = 0; h < kAll; ++h) {
    const PagedHeads& store = stores[static_cast<size_t>(h)];
    tasks.push_back({h, 1, 0, 1, store.on_host(0), kBegin, kCount});
    tasks_there.push_back({h, 1, 0, 1, store.on_device(0), kBegin, kCount});
  }
  TopKeysCall here;
  here.queries = view_of(queries);
  here.heads = kAll;
  here.head_dim = kDim;
  here.k = kBest;
  here.compute = AttendCompute::kF32;
  here.keys = std::span<int32_t>(keys);
  here.scores = view_of(scores);
  TopKeysCall there = here;
  there.queries = view_of(queries_there, queries.size());
  there.keys = view_of(keys_there, keys.size());
  there.scores = view_of(scores_there, scores.size());
  longhaul::top_keys(here, tasks);
  ScoreScratch scratch;
  ASSERT_TRUE(top_keys(nullptr, there, tasks_there, PageRange{}, scratch));
  expect_close(scores_there.get(), scores, 1e-5, 1e-4);
  expect_as_good(here, tasks, keys_there.get(), 1e-3);
}

TEST(CudaTopKeys, OfDecodeRowsOverStoredKeysFitTheSmallestCards) {
  for (const int dim : {64, 80, 96, 112, 128, 256}) {
    for (const int rows : {kBlockFlatRows, kExpandedFlatRows}) {
      for (const KvType type : {DType::F32, DType::F16, DType::Q8_0, DType::Q4_0}) {
        const bool blocks = type.k == DType::Q8_0 || type.k == DType::Q4_0;
        if (!type.holds(dim) || (rows == kBlockFlatRows && !blocks)) continue;
        for (const int kib : {100, 164, 228}) {
          const int bytes = static_cast<int>(bytes_of(type.k, dim));
          const StoredFit fit(dim, rows, 4, true, bytes, kib << 10);
          EXPECT_GE(fit.shape.stages, 2) << dim << ", " << rows << ", " << bytes << ", " << kib;
          EXPECT_LE(fit.block_bytes, 99 << 10);
          EXPECT_LE(fit.blocks * (fit.block_bytes + 1024), kib << 10);
          // Must fit in the memory of the rings.
          const int lists = rows * kMostTopKeys * 8 * fit.warps;
          EXPECT_GE(fit.block_bytes, static_cast<int>(sizeof(JobOfBlock)) + lists);
        }
      }
    }
  }
}

TEST(CudaTopKeys, OfTheCopyEngineEqualTheHosts) {
  if (!is_hopper()) GTEST_SKIP() << "needs a card of compute capability 9.0";
  const TopCase cases[] = {
      {DType::BF16, 128, 4, 100, 4, 32, 3000}, {DType::BF16, 128, 4, 33, 4, 64, 1024},
      {DType::BF16, 128, 8, 70, 8, 8, 5000},   {DType::BF16, 128, 1, 300, 1, 48, 127},
      {DType::BF16, 128, 3, 130, 5, 5, 2000},  {DType::BF16, 64, 3, 90, 8, 40, 20000},
      {DType::BF16, 64, 2, 129, 3, 0, 129},    {DType::BF16, 80, 2, 65, 4, 16, 700},
      {DType::BF16, 96, 4, 40, 4, 64, 1500},   {DType::BF16, 112, 2, 40, 8, 0, 640},
      {DType::BF16, 128, 4, 20, 4, 32, 0},     {DType::BF16, 128, 4, 512, 4, 32, 12000},
  };
  for (const TopCase& c : cases) test_top_keys(c, TopRule::kTile, true);
}

/// All keys are equal, so all scores of a row are equal. Keys of the first tiles win, and within a
/// tile the first key.
TEST(CudaTopKeys, OfEqualScoresTheLowerKeyWins) {
  constexpr int kDim = 128, kRows = 40, kGroup = 4, kBest = 4;
  for (const int64_t begin : {0, 32}) {
    const PagedHeads heads(DType::BF16, kDim, 1, begin + 3000, 9, true);
    const std::vector<float> queries = exact_floats(size_t{kRows} * kGroup * kDim, 4);
    const OnDevice<float> there(queries);
    const OnDevice<int32_t> keys(size_t{kRows} * kGroup * kBest);
    TopKeysCall call;
    call.queries = view_of(there, queries.size());
    call.heads = kGroup;
    call.head_dim = kDim;
    call.k = kBest;
    call.rule = TopRule::kTile;
    call.keys = view_of(keys, size_t{kRows} * kGroup * kBest);
    const TopKeysTask task{0, kGroup, 0, kRows, heads.on_device(0), begin, 3000};
    ScoreScratch scratch;
    for (const bool engine : {false, true}) {
      if (engine && !is_hopper()) continue;
      ASSERT_TRUE(
          top_keys(nullptr, call, {&task, 1}, engine ? heads.range() : PageRange{}, scratch));
      const std::vector<int32_t> got = keys.get();
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i], static_cast<int32_t>(i % kBest) * kTopTile) << i << ", " << engine;
      }
    }
  }
}

TEST(CudaTopKeys, OfEqualScoresTheLowerKeyWinsForDecodeRowsToo) {
  constexpr int kDim = 128, kGroup = 4, kBest = 4;
  for (const DType type : {DType::BF16, DType::F16, DType::Q8_0, DType::Q4_0}) {
    const PagedHeads heads(type, kDim, 1, 3040, 9, true);
    const std::vector<float> queries = exact_floats(size_t{kGroup} * kDim, 4);
    const OnDevice<float> there(queries);
    const OnDevice<int32_t> keys(size_t{kGroup} * kBest);
    TopKeysCall call;
    call.queries = view_of(there, queries.size());
    call.heads = kGroup;
    call.head_dim = kDim;
    call.k = kBest;
    call.keys = view_of(keys, size_t{kGroup} * kBest);
    const TopKeysTask task{0, kGroup, 0, 1, heads.on_device(0), 40, 3000};
    ScoreScratch scratch;
    for (const TopRule rule : {TopRule::kExact, TopRule::kTile}) {
      call.rule = rule;
      ASSERT_TRUE(top_keys(nullptr, call, {&task, 1}, {}, scratch));
      const std::vector<int32_t> got = keys.get();
      for (size_t i = 0; i < got.size(); ++i) {
        const int apart = rule == TopRule::kTile ? kTopTile : 1;
        ASSERT_EQ(got[i], static_cast<int32_t>(i % kBest) * apart) << i << ", " << name_of(type);
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
