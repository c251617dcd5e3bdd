// A GGUF file with tensors that its architecture and number of layers do not explain is refused,
// since the result would not be what its makers intended.

#include <gtest/gtest.h>

#include "model/gguf_model.h"

namespace longhaul {
namespace {

using testing_support::error_if_any;
using testing_support::has;
using testing_support::kHeadDim;
using testing_support::kHidden;
using testing_support::kPositive;
using testing_support::kVocab;

class UnusedTensors : public testing_support::GgufModel {
 protected:
  std::string error() const {
    return error_if_any([&] { load(); });
  }
};

TEST_F(UnusedTensors, LayersBeyondTheNumberOfLayers) {
  weights({4, 4, 4, 4});
  EXPECT_TRUE(
      has(error(), {"m.gguf", "'blk.3.attn_norm.weight' and 8 more", "a llama model of 3 layers"}));
}

TEST_F(UnusedTensors, WhatTheFamilyHasNoUseFor) {
  for (const char* tensor : {"blk.0.post_attention_norm.weight", "attn_sinks.weight",
                             "blk.0.attn_q_norm.weight", "output.bias", "blk.1.attn_qkv.bias"}) {
    begin("llama");
    weights({4, 4, 4});
    EXPECT_EQ(error(), "");
    vector(tensor, kHeadDim);
    EXPECT_TRUE(has(error(), {"m.gguf", fmt::format("tensor '{}' is not part of", tensor),
                              "a llama model of 3 layers"}));
  }
}

TEST_F(UnusedTensors, UnreadableOnesCountToo) {
  weights({4, 4, 4});
  unreadable("odd\nname");
  EXPECT_TRUE(has(error(), {R"(tensor 'odd\x0aname' is not part of)"}));
}

TEST_F(UnusedTensors, AHeadAndTheFactorsOfTheRotaryEmbeddingAreUsed) {
  weights({4, 4, 4});
  matrix("output.weight", kHidden, kVocab);
  vector("rope_freqs.weight", kHeadDim / 2, kPositive);
  EXPECT_EQ(error(), "");
  vector("rope_factors_long.weight", kHeadDim / 2, kPositive);
  vector("rope_factors_short.weight", kHeadDim / 2, kPositive);
  EXPECT_EQ(error(), "");
}

TEST_F(UnusedTensors, AMissingGateIsNamed) {
  weights({4, 4, 4}, /*gates=*/false);
  EXPECT_TRUE(has(error(), {"m.gguf", "blk.0.ffn_gate.weight", "missing"}));
}

TEST_F(UnusedTensors, OfPhi3TheMatrixNamedUpIsBoth) {
  begin("phi3");
  weights({4, 4, 4}, /*gates=*/false);
  EXPECT_TRUE(has(error(), {"blk.0.ffn_up.weight has shape [4, 8], expected [8, 8]"}));
  begin("phi3");
  weights({4, 4, 4});
  EXPECT_EQ(error(), "") << "unless there is a gate";
}

}  // namespace
}  // namespace longhaul
