// Every family's arithmetic on a device that multiplies in f32, like the host. The requested steps
// and their order must give the host's logits.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/tiny_models.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::all_logits;
using testing_support::exact_options;
using testing_support::TinyModel;

class FamilyOnADevice : public testing::TestWithParam<TinyModel> {};

TEST_P(FamilyOnADevice, LogitsEqualTheHosts) {
  const auto engine = Engine::open(GetParam().model);
  const std::vector<int32_t> ids = GetParam().prompt();
  for (const int chunk : {1024, 7}) {
    SessionOptions there = exact_options(chunk);
    there.queue = testing_support::fake_queue();
    const std::vector<float> want = all_logits(engine, exact_options(chunk), ids);
    const std::vector<float> got = all_logits(engine, there, ids);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-4 * std::max(1.0f, std::abs(want[i])))
          << "logit " << i << " chunk " << chunk;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyOnADevice,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

/// Families with special attention: caps, sinks, angles that differ by layer, temperature scaling.
class MethodsOnADevice : public testing::TestWithParam<const char*> {
 protected:
  /// Logits after the prompt and after one more token. Empty if the method refuses the model.
  static std::vector<float> read(const std::shared_ptr<const Engine>& engine,
                                 const std::string& method, const Queue& queue) {
    const std::vector<int32_t> prompt = testing_support::scattered_tokens(120);
    SessionOptions options = exact_options(50);
    options.queue = queue;
    std::vector<float> logits;
    try {
      options.attention = MethodSpec::parse(method);
      Session session(engine, options);
      PrefillHooks hooks;
      hooks.instruction = 16;
      EXPECT_TRUE(session.prefill(prompt, hooks)) << method;
      session.decode(77);
      logits.assign(session.logits().begin(), session.logits().end());
    } catch (const UserError&) {
      logits.clear();
    }
    return logits;
  }
};

TEST_P(MethodsOnADevice, ReadAsOnTheHost) {
  const auto engine =
      Engine::open(std::filesystem::path(LONGHAUL_TEST_DATA) / "tiny_models" / GetParam());
  const Queue device = testing_support::fake_queue();
  int read_by = 0;
  for (const auto& small : testing_support::first_of_each_kind(testing_support::small_settings())) {
    const std::vector<float> want = read(engine, small.spec, {});
    const std::vector<float> got = read(engine, small.spec, device);
    ASSERT_EQ(got.size(), want.size()) << small.spec;
    read_by += want.empty() ? 0 : 1;
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-3 * std::max(1.0f, std::abs(want[i])))
          << small.spec << " logit " << i;
    }
  }
  EXPECT_GT(read_by, 20);
}

INSTANTIATE_TEST_SUITE_P(Tiny, MethodsOnADevice,
                         testing::Values("gemma2", "gemma3", "smollm3", "ministral3",
                                         "gguf/gpt_oss.gguf", "cohere2", "gemma4", "deepseek_v3",
                                         "hunyuan", "llama4", "lfm2", "granite_hybrid",
                                         "falcon_h1"),
                         [](const auto& test) {
                           return testing_support::test_name(
                               std::filesystem::path(test.param).stem().string());
                         });

}  // namespace
}  // namespace longhaul
