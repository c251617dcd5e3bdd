// Models whose layers share keys and values or store latent vectors: tokens that are decoded one by
// one give what a prompt gives, and sessions continue from a file. Logits compared with
// transformers: reference_logits_test.cc. Every method: families_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "engine/exact_logits.h"
#include "engine/session.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

class DecodedLayers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine_ = Engine::open(fs::path(LONGHAUL_TEST_DATA) / "tiny_models" / GetParam());
  }
  Session session(KvType type = DType::F32) const {
    SessionOptions options = testing_support::exact_options(20);
    options.kv_type = type;
    return {engine_, options};
  }
  static std::vector<int32_t> text(int32_t count) {
    return testing_support::scattered_tokens(count);
  }
  static std::vector<float> logits_of(const Session& session) {
    return {session.logits().begin(), session.logits().end()};
  }

  std::shared_ptr<const Engine> engine_;
};

TEST_P(DecodedLayers, DecodeGivesWhatPrefillGives) {
  const std::vector<int32_t> ids = text(110);
  Session read = session(), decoded = session();
  read.prefill(ids);
  decoded.prefill(std::span(ids).first(70));
  for (size_t i = 70; i < ids.size(); ++i) decoded.decode(ids[i]);
  EXPECT_LT(testing_support::furthest(logits_of(decoded), logits_of(read)), 1e-4);
}

TEST_P(DecodedLayers, SessionsContinueFromAFile) {
  const testing_support::TempFolder folder;
  const fs::path file = folder.path() / "s.session";
  Session first = session();
  first.prefill(text(90));
  first.save(file);
  Session second = session();
  second.load(file);
  first.decode(5);
  second.decode(5);
  EXPECT_EQ(logits_of(first), logits_of(second));
}

TEST_P(DecodedLayers, KeysMayBeRounded) {
  Session exact = session(), rounded = session(DType::BF16);
  exact.prefill(text(90));
  rounded.prefill(text(90));
  const double apart = testing_support::furthest(logits_of(exact), logits_of(rounded));
  EXPECT_GT(apart, 0);
  EXPECT_LT(apart, 10) << "other experts may be chosen";
}

INSTANTIATE_TEST_SUITE_P(Tiny, DecodedLayers,
                         testing::Values("gemma4", "gemma4_moe", "deepseek_v3", "deepseek_v2",
                                         "glm4_moe_lite", "mistral4", "youtu"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace longhaul
