// The two halves of a decode step: a device chooses the highest logits after begin_decode() has
// returned, also for more rows than are computed together.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/nth.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "ops/core/best_logits.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::FakeDevice;

/// Writes the results only when they are asked for, as a GPU does.
class LateDevice : public FakeDevice {
 public:
  LateDevice() {
    operations().set(kBestLogits,
                     [this](View<float> logits, std::span<const LogitRules> rules, int k,
                            std::span<BestLogit> best, std::span<LogitSums> sums) {
                       Late late{events_ + 1, best, sums, {}, {}};
                       late.found.resize(best.size());
                       late.added.resize(sums.size());
                       best_logits(host_queue(), {logits.address(), logits.size()}, rules, k,
                                   late.found, late.added);
                       late_.push_back(std::move(late));
                       return true;
                     });
    operations().set(kEndBestLogits, [this](uint64_t event) {
      ++ended;
      for (; !late_.empty() && late_.front().event <= event; late_.pop_front()) {
        std::ranges::copy(late_.front().found, late_.front().best.begin());
        std::ranges::copy(late_.front().added, late_.front().sums.begin());
      }
      return true;
    });
  }
  uint64_t record_event() override { return ++events_; }

  int ended = 0;

 private:
  struct Late {
    uint64_t event;
    std::span<BestLogit> best;
    std::span<LogitSums> sums;
    std::vector<BestLogit> found;
    std::vector<LogitSums> added;
  };
  uint64_t events_ = 0;
  std::deque<Late> late_;
};

class LateLogits : public ::testing::Test {
 protected:
  static constexpr int kSequences = static_cast<int>(ModelRunner::kMostRows) + 6;

  LateLogits() {
    SessionOptions options;
    options.queue = queue_;
    options.chunk = 64;
    Sequence base(engine_, options);
    std::vector<int32_t> prompt;
    for (int i = 0; i < 40; ++i) prompt.push_back(1 + i * 7 % 200);
    prefill(base, runner_, prompt);
    best_.resize(kSequences);
    for (int i = 0; i < kSequences; ++i) {
      sequences_.push_back(base.clone());
      rows_.push_back({&sequences_.back(), 1 + i, nullptr, {&nth(best_, i), 1}});
    }
  }

  /// The highest logit of every row, from all of its logits.
  std::vector<int32_t> tokens_of_all_logits() {
    std::vector<int32_t> tokens;
    for (int i = 0; i < kSequences; ++i) {
      Sequence copy = nth(sequences_, i).clone();
      runner_.decode(copy, 1 + i);
      const std::span<const float> logits = copy.logits();
      tokens.push_back(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
    }
    return tokens;
  }

  std::shared_ptr<LateDevice> device_ = std::make_shared<LateDevice>();
  Queue queue_{device_};
  std::shared_ptr<const Engine> engine_ =
      Engine::open(std::string(LONGHAUL_TEST_DATA) + "/tiny_models/llama_linear");
  ModelRunner runner_{engine_, queue_, Compute::kF32};
  std::deque<Sequence> sequences_;
  std::vector<BestLogit> best_;
  std::vector<DecodeRow> rows_;
};

TEST_F(LateLogits, ArriveWhenTheStepEnds) {
  const std::vector<int32_t> expected = tokens_of_all_logits();
  const int ended = device_->ended;
  runner_.begin_decode(rows_);
  EXPECT_EQ(device_->ended, ended) << "the second batch is queued before the first is awaited";
  for (const BestLogit& each : best_) EXPECT_EQ(each.token, -1);
  EXPECT_EQ(sequences_.front().tokens().size(), 40U);
  runner_.end_decode();
  for (int i = 0; i < kSequences; ++i) {
    ASSERT_EQ(nth(rows_, i).failed, nullptr);
    EXPECT_EQ(nth(best_, i).token, nth(expected, i)) << i;
    EXPECT_EQ(nth(sequences_, i).tokens().size(), 41U);
  }
}

/// Its logits are then computed in parts.
TEST_F(LateLogits, BelongToOneBatchOfManyRows) {
  const std::vector<int32_t> expected = tokens_of_all_logits();
  ModelRunner wide(engine_, queue_, Compute::kF32, ModelRunner::most_rows(queue_, kSequences));
  wide.decode(rows_);
  for (int i = 0; i < kSequences; ++i) {
    ASSERT_EQ(nth(rows_, i).failed, nullptr);
    EXPECT_EQ(nth(best_, i).token, nth(expected, i)) << i;
  }
}

/// A row of which all logits are wanted is read at once. The others stay late.
TEST_F(LateLogits, StandBesideRowsOfAllLogits) {
  const std::vector<int32_t> expected = tokens_of_all_logits();
  rows_[3].best = {};
  runner_.decode(rows_);
  const std::span<const float> logits = sequences_[3].logits();
  EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(), expected[3]);
  EXPECT_EQ(best_[2].token, expected[2]);
  EXPECT_EQ(best_[3].token, -1);
}

}  // namespace
}  // namespace longhaul
