#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "base/error_of.h"

namespace longhaul {
namespace {

using testing_support::attention_by_definition;
using testing_support::largest_difference;
using testing_support::MethodRun;
using testing_support::small_shape;

/// The frequencies for a context of `length` tokens.
RopeTable ntk_rope(const RopeTable& rope, double factor, int64_t length, int64_t trained) {
  if (length <= trained) return rope;
  const double ratio = static_cast<double>(length) / static_cast<double>(trained);
  return stretched_rope(rope, factor * ratio - (factor - 1));
}

double base_after(double base, int64_t length) {
  RopeTable table;
  for (int t = 0; t < 64; ++t) table.inverse_frequency.push_back(std::pow(base, -t / 64.0));
  const RopeTable stretched = ntk_rope(table, 4, length, 8192);
  // All frequencies imply one base.
  const double found = std::pow(stretched.inverse_frequency[1], -64.0);
  EXPECT_NEAR(std::pow(stretched.inverse_frequency[63], -64.0 / 63), found, found * 1e-9);
  EXPECT_EQ(stretched.inverse_frequency[0], 1);
  return found;
}

TEST(NtkRope, BasesOfTheSpecification) {
  EXPECT_NEAR(base_after(500000, 16384), 2564689.36, 0.01);
  EXPECT_NEAR(base_after(500000, 32768), 6770098.65, 0.01);
  EXPECT_NEAR(base_after(10000, 16384), 51293.79, 0.01);
  EXPECT_NEAR(base_after(10000, 8192), 10000, 1e-6);
  EXPECT_NEAR(base_after(10000, 5), 10000, 1e-6);
}

ModelShape short_shape() {
  ModelShape shape = small_shape(1, 2, 2, 32);
  shape.trained_context = 50;
  return shape;
}

/// Rows [begin, end) equal attention with the base for `length`.
void expect_rows(const MethodRun& run, int64_t length, int64_t begin, int64_t end) {
  ModelShape shape = run.shape;
  shape.rope = ntk_rope(shape.rope, 4, length, shape.trained_context);
  auto want =
      attention_by_definition(shape, 0, run.inputs[0], end, [](int64_t, int64_t) { return true; });
  const int64_t width = shape.heads * shape.head_dim;
  const std::vector<float> got(run.out[0].begin() + begin * width,
                               run.out[0].begin() + end * width);
  want.erase(want.begin(), want.begin() + begin * width);
  EXPECT_LT(largest_difference(got, want), 3e-5) << "rows from " << begin;
}

TEST(Ntk, ExactRotatesAllKeysWithTheBaseOfThePresentLength) {
  const ModelShape shape = short_shape();
  for (const int chunk : {1, 64, 300}) {
    const auto method = MethodSpec::parse("ntk").make(shape);
    MethodRun run(shape, *method, DType::F32, 160);
    run.prompt(120, chunk);  // rows of early passes use the whole prompt's length
    run.decode(2);
    run.prompt(38, chunk);
    expect_rows(run, 120, 0, 120);
    expect_rows(run, 121, 120, 121);
    expect_rows(run, 122, 121, 122);
    expect_rows(run, 160, 122, 160);
  }
}

TEST(Ntk, LengthByPassFollowsThePasses) {
  const ModelShape shape = short_shape();
  const auto method = MethodSpec::parse("ntk:length=pass").make(shape);
  MethodRun run(shape, *method, DType::F32, 120);
  run.prompt(120, 60);
  expect_rows(run, 60, 0, 60);
  expect_rows(run, 120, 60, 120);
}

TEST(Ntk, HfLeavesKeysAtTheBaseTheyWereReadWith) {
  const ModelShape shape = short_shape();
  const auto method = MethodSpec::parse("ntk:mode=hf").make(shape);
  MethodRun run(shape, *method, DType::F32, 160);
  run.prompt(120, 64);
  expect_rows(run, 120, 0, 120);
  run.prompt(40, 64);
  for (const int64_t token : {7, 119, 120, 159}) {
    const int64_t length = token < 120 ? 120 : 160;
    RotationBuffer rotations;
    rotations.fill(host_queue(), ntk_rope(shape.rope, 4, length, 50), token, 1);
    std::vector<float> want(64), key(32), value(32);
    apply_rope(host_queue(), rotations.view(), token, {run.inputs[0].k.data() + token * 64, 64}, 1,
               2, 32, std::span(want));
    run.store.read(0, 1, token, key.data(), value.data());
    for (size_t t = 0; t < 32; ++t) EXPECT_NEAR(key[t], want[32 + t], 1e-5) << token;
  }
}

TEST(Ntk, FixedUsesOneBaseThroughout) {
  const ModelShape shape = short_shape();
  for (const auto& [text, length] :
       {std::pair{"ntk:mode=fixed", int64_t{200}}, {"ntk:mode=fixed,context=170", int64_t{170}}}) {
    const auto method = MethodSpec::parse(text).make(shape);
    MethodRun run(shape, *method, DType::F32, 100);
    run.prompt(40, 16);
    run.decode(5);
    run.prompt(55, 64);
    expect_rows(run, length, 0, 100);
    EXPECT_TRUE(method->can_rewind());
    EXPECT_LE(method->reach(length, 64), shape.trained_context);
    EXPECT_EQ(method->reach(length + 1, 64), length + 1);
  }
  EXPECT_LE(MethodSpec::parse("ntk").make(shape)->reach(100000, 64), shape.trained_context);
}

TEST(Ntk, AContextBelowTheTrainedLengthIsRefused) {
  const ModelShape shape = short_shape();
  const std::string spec = fmt::format("ntk:mode=fixed,context={}", shape.trained_context);
  EXPECT_NO_THROW(MethodSpec::parse(spec).make(shape));
  EXPECT_EQ(testing_support::error_of(
                [&] { MethodSpec::parse("ntk:mode=fixed,context=10").make(shape); }),
            fmt::format("--attention ntk: context=10: must be from {} to 16777216: below the "
                        "trained length it would change nothing",
                        shape.trained_context));
}

}  // namespace
}  // namespace longhaul
