// Maps of blocks compared with a plain softmax, and the place of evidence.

#include "calibrate/block_maps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/session.h"
#include "eval/evidence.h"
#include "eval/nano.h"
#include "ops/attention/stored_key.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::nano_composer;

TEST(BlockMaps, AreTheSoftmaxSummedOverTheHeadsHoweverPassesCutBlocks) {
  constexpr int kTokens = 150, kBlock = 32, kHeads = 6, kDim = 64;
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  options.chunk = 50;
  Session session(nano(), options);
  std::vector<int32_t> prompt;
  for (int i = 0; i < kTokens; ++i) prompt.push_back(3 + (i * 7919) % 4000);
  BlockMaps maps(nano()->model().shape, kBlock, {10, 90});
  std::vector<std::vector<float>> queries(12);
  session.observe([&](LayerStep step, std::span<const AttendTask>) {
    maps.observe(step);
    const std::span<const float> q = host(step.rotated_q());
    auto& all = queries[static_cast<size_t>(step.layer)];
    all.insert(all.end(), q.begin(), q.end());
  });
  ASSERT_TRUE(session.prefill(prompt));
  for (const int layer : {0, 5, 11}) {
    for (size_t b = 0; b < 2; ++b) {
      const BlockMap map = maps.of(layer, b);
      for (const int i : {0, 7, 31}) {
        std::vector<double> expected(kBlock, 0.0);
        const auto row = static_cast<size_t>(maps.first(b) + i);
        for (int head = 0; head < kHeads; ++head) {
          std::vector<double> logits;
          double sum = 0;
          for (size_t key = 0; key <= row; ++key) {
            float k[kDim];
            read_key(session.store().rows(layer, head / 2), static_cast<int64_t>(key), k);
            double dot = 0;
            for (size_t d = 0; d < kDim; ++d) {
              dot += double{queries[static_cast<size_t>(layer)]
                                   [(row * kHeads + static_cast<size_t>(head)) * kDim + d]} *
                     double{k[d]};
            }
            logits.push_back(std::exp(dot / 8));
            sum += logits.back();
          }
          for (int j = 0; j <= i; ++j) {
            expected[static_cast<size_t>(j)] +=
                logits[static_cast<size_t>(maps.first(b) + j)] / sum;
          }
        }
        for (int j = 0; j <= i; ++j) {
          EXPECT_NEAR(map.at(i, j), expected[static_cast<size_t>(j)], 1e-4)
              << layer << " " << b << " " << i << " " << j;
        }
      }
    }
  }
}

TEST(Evidence, IsTheSentenceThatHoldsTheAnswer) {
  Sample sample;
  for (int i = 0; i < 20; ++i) sample.context += "The rain had not stopped since the morning. ";
  sample.context += "Mark: the key is 4827163. It rained.\nAnother key is 55512 here\nThe end.";
  sample.question = "What is the key?";
  const ComposedPrompt prompt = nano_composer().compose(sample, false);
  const auto text_of = [&](const TokenRange& range) {
    std::string text;
    for (int64_t i = range.begin; i < range.end; ++i) {
      text += nano()->tokenizer().piece(prompt.tokens[static_cast<size_t>(i)]);
    }
    return text;
  };
  const std::vector<std::string> answers{"4827163", "55512"};
  const auto found = evidence_in(nano()->tokenizer(), prompt, answers);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(text_of(found[0]).find("Mark: the key is 4827163."), std::string::npos);
  EXPECT_EQ(text_of(found[0]).find("morning"), std::string::npos) << text_of(found[0]);
  EXPECT_EQ(text_of(found[0]).find("rained"), std::string::npos) << text_of(found[0]);
  EXPECT_NE(text_of(found[1]).find("Another key is 55512 here"), std::string::npos);
  EXPECT_EQ(text_of(found[1]).find("The end"), std::string::npos) << text_of(found[1]);
  const std::vector<std::string> absent{"99999"};
  EXPECT_TRUE(evidence_in(nano()->tokenizer(), prompt, absent).empty());
}

TEST(Evidence, LiesInTheBlockThatHoldsMostOfIt) {
  EXPECT_EQ(block_of({130, 140}, 128, 64, 1000), 128);
  EXPECT_EQ(block_of({185, 200}, 128, 64, 1000), 192);
  EXPECT_EQ(block_of({180, 196}, 128, 64, 1000), 128);
  EXPECT_EQ(block_of({100, 140}, 128, 64, 1000), -1) << "it begins in the first tokens";
  EXPECT_EQ(block_of({190, 200}, 128, 64, 250), -1) << "the block is not whole";
}

}  // namespace
}  // namespace longhaul
