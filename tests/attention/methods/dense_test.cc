#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/method_spec.h"

namespace longhaul {
namespace {

using testing_support::attention_by_definition;
using testing_support::largest_difference;
using testing_support::MethodRun;
using testing_support::small_shape;

/// Error that the storage type of keys and values may cause.
double tolerance(DType type) {
  switch (type) {
    case DType::F32:
      return 2e-5;
    case DType::F16:
      return 4e-3;
    case DType::BF16:
      return 3e-2;
    case DType::Q8_0:
      return 6e-2;
    default:
      return 0.4;
  }
}

/// Prompt and generated tokens equal the definition in every layer.
void check(const ModelShape& shape, const KvType& type, int64_t prompt, int chunk,
           int64_t generated, AttendCompute compute = AttendCompute::kF32) {
  const auto dense = MethodSpec::parse("dense").make(shape);
  const int64_t tokens = prompt + generated;
  MethodRun run(shape, *dense, type, tokens);
  run.compute = compute;
  run.prompt(prompt, chunk);
  run.decode(generated);
  const double allowed =
      compute == AttendCompute::kF32 ? std::max(tolerance(type.k), tolerance(type.v)) : 3e-2;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    const int64_t window = shape.window[l];
    const auto want = attention_by_definition(
        shape, layer, run.inputs[l], tokens,
        [&](int64_t i, int64_t j) { return window == 0 || i - j < window; });
    EXPECT_LT(largest_difference(run.out[l], want), allowed)
        << "layer " << layer << " group " << shape.heads / shape.kv_heads[l] << " prompt " << prompt
        << " chunk " << chunk << " type " << name_of(type);
  }
}

TEST(Dense, EqualsTheDefinitionForEveryGroupSize) {
  for (const int group : {1, 2, 3, 8}) check(small_shape(2, 2, group, 64), DType::F32, 75, 32, 5);
}

TEST(Dense, EqualsTheDefinitionForOddLengths) {
  for (const int64_t prompt : {1, 2, 31, 33, 64, 65, 127, 131}) {
    check(small_shape(1, 1, 3, 32), DType::F32, prompt, 40, 3);
  }
}

TEST(Dense, EveryStoredTypeStaysWithinItsPrecision) {
  for (const KvType& type : {KvType(DType::F32), KvType(DType::F16), KvType(DType::BF16),
                             KvType(DType::Q8_0), KvType(DType::Q8_0, DType::Q4_0)}) {
    check(small_shape(1, 2, 3, 64), type, 100, 48, 4);
  }
}

TEST(Dense, FastProductsStayWithinBf16) {
  check(small_shape(1, 2, 3, 64), DType::BF16, 300, 256, 2, AttendCompute::kBest);
}

TEST(Dense, LayersMayDifferInKvHeadsAndWindow) {
  ModelShape shape = small_shape(4, 2, 2, 32);
  shape.kv_heads = {1, 2, 4, 2};
  shape.window = {0, 17, 5, 1};
  check(shape, DType::F32, 83, 30, 6);
}

TEST(Dense, ChunkSizeChangesNothing) {
  const ModelShape shape = small_shape(1, 2, 3, 64);
  const auto dense = MethodSpec::parse("dense").make(shape);
  MethodRun whole(shape, *dense, DType::F32, 200);
  whole.prompt(200, 512);
  const std::vector<double> want(whole.out[0].begin(), whole.out[0].end());
  for (const int chunk : {1, 7, 32, 64, 199}) {
    MethodRun run(shape, *dense, DType::F32, 200);
    run.prompt(200, chunk);
    EXPECT_LT(largest_difference(run.out[0], want), 2e-5) << "chunk " << chunk;
  }
}

TEST(Dense, AnotherContinuationAfterRewindingEqualsReadingItAfresh) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto dense = MethodSpec::parse("dense").make(shape);
  ASSERT_TRUE(dense->can_rewind());
  MethodRun run(shape, *dense, DType::F32, 150);
  run.prompt(150, 64);
  const auto first = run.out;
  run.store.truncate(90);
  run.done = 90;
  for (auto& out : run.out) std::fill(out.begin() + 90 * shape.heads * 32, out.end(), NAN);
  run.prompt(60, 64);
  for (size_t l = 0; l < 2; ++l) {
    const std::vector<double> want(first[l].begin(), first[l].end());
    EXPECT_LT(largest_difference(run.out[l], want), 2e-5);
    EXPECT_EQ(run.store.token_of(static_cast<int>(l), 0, 149), 149);
  }
}

TEST(Dense, CountsEveryPairOnceAndOnlyWhatAWindowShows) {
  ModelShape shape = small_shape(2, 2, 3, 32);
  const auto dense = MethodSpec::parse("dense").make(shape);
  MethodRun run(shape, *dense, DType::F32, 50);
  run.prompt(49, 20);
  run.decode(1);
  EXPECT_EQ(run.record.dense_pairs, 2 * 6 * (50 * 51 / 2));
  EXPECT_EQ(run.record.pairs, run.record.dense_pairs);
  EXPECT_GT(run.record.seconds, 0);

  shape.window = {0, 10};
  MethodRun windowed(shape, *dense, DType::F32, 50);
  windowed.prompt(50, 20);
  // Rows 0 to 8 see 1 to 9 keys, the other 41 see 10.
  EXPECT_EQ(windowed.record.pairs, 6 * (50 * 51 / 2) + 6 * (45 + 10 * 41));
  EXPECT_EQ(windowed.record.dense_pairs, windowed.record.pairs);
}

}  // namespace
}  // namespace longhaul
