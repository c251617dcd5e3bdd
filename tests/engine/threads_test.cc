// Equal models, texts and settings give equal bits with any number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/parallel.h"
#include "engine/session.h"
#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

struct Setting {
  const char* name;
  const char* attention;
  KvType kv_type;
  Compute compute;
  int tokens = 1100;
  Isa isa = best_isa();
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class Threads : public testing::TestWithParam<Setting> {
 protected:
  static void SetUpTestSuite() { nano_ = Engine::open(fs::path(LONGHAUL_MODELS) / "nano"); }
  static void TearDownTestSuite() { nano_.reset(); }
  void TearDown() override {
    set_thread_count(before_);
    set_isa(best_isa());
  }

  /// Logits after a text, and after some more tokens.
  static std::vector<float> logits_on(int threads, const Setting& setting) {
    set_thread_count(threads);
    set_isa(std::min(setting.isa, best_isa()));
    SessionOptions options;
    options.attention = MethodSpec::parse(setting.attention);
    options.kv_type = setting.kv_type;
    options.compute = setting.compute;
    Session session(nano_, options);
    std::vector<int32_t> text;
    for (int i = 0; i < setting.tokens; ++i) text.push_back(3 + i * i % 3000);
    PrefillHooks hooks;
    hooks.instruction = 16;
    session.prefill(text, hooks);
    std::vector<float> all(session.logits().begin(), session.logits().end());
    for (const int32_t token : {5, 77, 901}) {
      session.decode(token);
      all.insert(all.end(), session.logits().begin(), session.logits().end());
    }
    return all;
  }

  inline static std::shared_ptr<const Engine> nano_;
  const int before_ = thread_count();
};

TEST_P(Threads, TheirNumberChangesNoBit) {
  const std::vector<float> one = logits_on(1, GetParam());
  for (const int threads : {2, 3, 7}) {
    const std::vector<float> other = logits_on(threads, GetParam());
    ASSERT_EQ(one.size(), other.size());
    size_t different = 0;
    for (size_t i = 0; i < one.size(); ++i) different += one[i] == other[i] ? 0 : 1;
    EXPECT_EQ(different, 0u) << "of " << one.size() << " logits, on " << threads << " threads";
  }
}

const Setting kSettings[] = {
    {"dense", "dense", DType::BF16, Compute::kBest},
    {"dense_f32", "dense", DType::F32, Compute::kF32, 40},
    {"dense_avx2", "dense", DType::F16, Compute::kBest, 600, Isa::kAvx2},
    {"dense_q8_0_q4_0", "dense", {DType::Q8_0, DType::Q4_0}, Compute::kBest},
    {"streamingllm", "streamingllm:recent=300", DType::BF16, Compute::kBest},
    {"snapkv", "snapkv:capacity=256", DType::BF16, Compute::kBest},
    {"infllm", "infllm:block=64,n_init=64,n_local=256,topk=4", DType::BF16, Compute::kBest},
};
INSTANTIATE_TEST_SUITE_P(All, Threads, testing::ValuesIn(kSettings),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace longhaul
