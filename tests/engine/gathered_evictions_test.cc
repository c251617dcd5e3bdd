// Evictions after generated tokens of a batch on a device run together. Each sequence gives the
// bits that it gives alone.

#include <gtest/gtest.h>

#include "engine/sequence_run.h"
#include "ops/choosing_device.h"

namespace longhaul {
namespace {

using testing_support::decode;
using testing_support::likeliest;
using testing_support::Logits;
using testing_support::logits_of;
using testing_support::read;
using testing_support::same_bits;
using testing_support::short_nano;

/// A device that counts the operations of evictions.
class WatchedDevice : public testing_support::ChoosingDevice {
 public:
  WatchedDevice() {
    operations().set(kKeepRows,
                     [this](std::span<const KeptRows> rows, std::span<const KeptNumbers> numbers) {
                       ++moves;
                       lists += std::ssize(rows);
                       return keep_rows(rows, numbers);
                     });
    operations().set(kSelectRows,
                     [this](std::span<const View<const float>> scores, const RowsToKeep& keep,
                            std::span<const View<int32_t>> rows) {
                       ++choices;
                       return select_rows(scores, keep, rows);
                     });
  }
  int64_t moves = 0, lists = 0, choices = 0;
};

class GatheredEvictions : public ::testing::Test {
 protected:
  Sequence sequence_of(const std::string& spec) const {
    SessionOptions options;
    options.attention = MethodSpec::parse(spec);
    options.chunk = 64;
    options.compute = Compute::kF32;
    options.queue = queue_;
    return Sequence(short_nano(), options);
  }
  /// Sequences after prompts of different lengths.
  std::vector<Sequence> sequences_of(const std::vector<std::string>& specs, ModelRunner& with) {
    std::vector<Sequence> all;
    for (const std::string& spec : specs) {
      std::vector<int32_t> prompt = testing_support::early_pass_key(*short_nano());
      prompt.resize(prompt.size() - 7 * all.size());
      read(all.emplace_back(sequence_of(spec)), prompt, with);
    }
    return all;
  }
  void step(std::vector<Sequence>& all, ModelRunner& with) {
    std::vector<DecodeRow> rows;
    for (Sequence& each : all) rows.push_back({&each, likeliest(each)});
    with.decode(rows);
    for (const DecodeRow& row : rows) ASSERT_FALSE(row.failed);
  }

  std::shared_ptr<WatchedDevice> device_ = std::make_shared<WatchedDevice>();
  Queue queue_{device_};
};

TEST_F(GatheredEvictions, GiveEachSequenceTheBitsThatItHasAlone) {
  const std::vector<std::string> specs = {
      "tova:capacity=60,stride=20", "dense",
      "h2o:budget=60,stride=20",    "tova:capacity=60,stride=20",
      "tova:capacity=31,stride=1",  "streamingllm:sink=2,recent=30",
      "tova:capacity=60,stride=8"};
  ModelRunner with(short_nano(), queue_, Compute::kF32);
  std::vector<Sequence> together = sequences_of(specs, with), alone = sequences_of(specs, with);
  constexpr int kDecodedTokens = 8;
  std::vector<std::vector<Logits>> want;
  for (Sequence& each : alone) want.push_back(decode(each, with, kDecodedTokens));
  for (int token = 0; token < kDecodedTokens; ++token) {
    step(together, with);
    for (size_t i = 0; i < specs.size(); ++i) {
      EXPECT_TRUE(same_bits(logits_of(together[i]), want[i][static_cast<size_t>(token)]))
          << specs[i] << ", token " << token;
    }
  }
  const KvStore &here = together[4].store(), &there = alone[4].store();
  EXPECT_EQ(here.length(3, 0), 31);
  for (int64_t row = 0; row < 31; ++row) {
    EXPECT_EQ(here.token_of(3, 1, row), there.token_of(3, 1, row));
  }
}

TEST_F(GatheredEvictions, RunAsOneOperationPerLayer) {
  ModelRunner with(short_nano(), queue_, Compute::kF32);
  std::vector<Sequence> all =
      sequences_of(std::vector<std::string>(4, "tova:capacity=60,stride=20"), with);
  step(all, with);  // from here on rows move within the pages
  device_->moves = device_->lists = device_->choices = 0;
  step(all, with);
  const int layers = short_nano()->model().config.layers;
  EXPECT_EQ(device_->moves, layers);
  EXPECT_EQ(device_->choices, layers);
  EXPECT_EQ(device_->lists, 4 * layers * all.front().store().lists(0));
}

/// A clone shares the pages of its original, which an eviction of the clone must not change.
TEST_F(GatheredEvictions, LeaveThePagesOfClonesAlone) {
  ModelRunner with(short_nano(), queue_, Compute::kF32);
  std::vector<Sequence> all =
      sequences_of(std::vector<std::string>(2, "tova:capacity=60,stride=20"), with);
  step(all, with);
  Sequence original = all[0].clone();
  Sequence copy = original.clone();
  const std::vector<Logits> want = decode(copy, with, 4);
  for (int i = 0; i < 3; ++i) step(all, with);
  const std::vector<Logits> got = decode(original, with, 4);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i]));
}

}  // namespace
}  // namespace longhaul
