// Models whose angles depend on the context length. A prefix may be reused only if a fresh reading
// of the longer prompt gives its keys equal angles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/generate.h"
#include "engine/session.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::TempFolder;

constexpr size_t kOriginal = 32;  // max_position_embeddings of llama_dynamic

class LengthDependentRope : public testing::TestWithParam<const char*> {
 protected:
  /// llama_dynamic, or its weights with longrope.
  static std::shared_ptr<const Engine> engine() {
    const fs::path dynamic = fs::path(LONGHAUL_TEST_DATA) / "tiny_models/llama_dynamic";
    if (std::string_view(GetParam()) == "dynamic") return Engine::open(dynamic);
    static const TempFolder folder;
    fs::copy(dynamic, folder.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    json config = json::parse(std::ifstream(dynamic / "config.json"));
    config["original_max_position_embeddings"] = kOriginal;
    config["max_position_embeddings"] = 4 * kOriginal;
    config["rope_scaling"] = {{"rope_type", "longrope"},
                              {"short_factor", json::array({1, 1, 1, 1, 1, 1, 1, 1})},
                              {"long_factor", json::array({1, 1, 2, 2, 3, 3, 4, 4})}};
    folder.write("config.json", config.dump());
    return Engine::open(folder.path());
  }

  static SessionOptions exact() {
    SessionOptions options;
    options.compute = Compute::kF32;
    options.kv_type = DType::F32;
    return options;
  }

  static std::vector<int32_t> text(size_t tokens, int32_t last = 7) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i + 1 < tokens; ++i) ids.push_back(static_cast<int32_t>(37 * i % 256));
    ids.push_back(last);
    return ids;
  }

  void SetUp() override { engine_ = engine(); }

  /// Reads `prompt` into `session`, adds a reply of one token, and compares with a fresh reading.
  /// Returns the number of reused tokens.
  int64_t read_as_if_fresh(Session& session, const std::vector<int32_t>& prompt) const {
    Session fresh(engine_, exact());
    fresh.prefill(prompt);
    const PromptReading reading = read_prompt(session, prompt);
    expect_alike(session, fresh);
    session.decode(9);
    fresh.decode(9);
    expect_alike(session, fresh);
    return reading.reused;
  }

  static void expect_alike(const Session& a, const Session& b) {
    ASSERT_EQ(a.tokens().size(), b.tokens().size());
    for (size_t i = 0; i < a.logits().size(); ++i) {
      ASSERT_NEAR(a.logits()[i], b.logits()[i], 1e-4) << i;
    }
  }

  bool dynamic() const { return std::string_view(GetParam()) == "dynamic"; }

  std::shared_ptr<const Engine> engine_;
};

TEST_P(LengthDependentRope, APrefixUpToTheOriginalLengthIsReused) {
  Session session(engine_, exact());
  EXPECT_EQ(read_as_if_fresh(session, text(kOriginal - 12)), 0);
  EXPECT_EQ(read_as_if_fresh(session, text(kOriginal)), static_cast<int64_t>(kOriginal - 13));
}

TEST_P(LengthDependentRope, PassingTheOriginalLengthReadsAllAgain) {
  Session session(engine_, exact());
  EXPECT_EQ(read_as_if_fresh(session, text(kOriginal)), 0);
  std::vector<int32_t> longer = text(kOriginal);
  longer.push_back(9);  // the reply in the session, so that this is a pure continuation
  longer.push_back(5);
  EXPECT_EQ(read_as_if_fresh(session, longer), 0);
  EXPECT_EQ(read_as_if_fresh(session, text(kOriginal - 5)), 0);
}

TEST_P(LengthDependentRope, BeyondItOnlyDynamicReadsAllAgain) {
  Session session(engine_, exact());
  std::vector<int32_t> prompt = text(60);
  EXPECT_EQ(read_as_if_fresh(session, prompt), 0);
  EXPECT_EQ(read_as_if_fresh(session, text(60, 8)), 59) << "the same length, the same angles";
  prompt = text(60, 8);
  prompt.push_back(9);
  prompt.push_back(5);
  EXPECT_EQ(read_as_if_fresh(session, prompt), dynamic() ? 0 : 61);
}

TEST_P(LengthDependentRope, ALoadedSessionKeepsItsAngles) {
  const TempFolder folder;
  const fs::path file = folder.path() / "session";
  Session session(engine_, exact());
  session.prefill(text(60));
  for (const int32_t reply : {9, 10, 11}) session.decode(reply);
  session.save(file);

  Session loaded(engine_, exact());
  loaded.load(file);
  session.decode(12);
  loaded.decode(12);
  expect_alike(session, loaded);

  Session same_length(engine_, exact());
  same_length.load(file);
  EXPECT_EQ(read_as_if_fresh(same_length, text(60, 8)), 59);
  Session as_long_as_the_file(engine_, exact());
  as_long_as_the_file.load(file);
  EXPECT_EQ(read_as_if_fresh(as_long_as_the_file, text(63)), dynamic() ? 0 : 59);
  Session shorter(engine_, exact());
  shorter.load(file);
  EXPECT_EQ(read_as_if_fresh(shorter, text(kOriginal - 4)), 0);
}

TEST_P(LengthDependentRope, ASharedPrefixNeedsTheSameAngles) {
  Session dense(engine_, exact());
  dense.prefill(text(60));
  const ContextCopy copy = dense.copy_context();
  Session same(engine_, exact());
  EXPECT_EQ(same.begin_with(copy, text(60, 8)), 59);
  EXPECT_EQ(read_as_if_fresh(same, text(60, 8)), 59);
  Session longer(engine_, exact());
  EXPECT_EQ(longer.begin_with(copy, text(61)), dynamic() ? 0 : 59);
  EXPECT_EQ(read_as_if_fresh(longer, text(61)), dynamic() ? 0 : 59);
  Session shorter(engine_, exact());
  EXPECT_EQ(shorter.begin_with(copy, text(kOriginal)), 0);
}

INSTANTIATE_TEST_SUITE_P(Scalings, LengthDependentRope, testing::Values("dynamic", "longrope"),
                         [](const auto& scaling) { return std::string(scaling.param); });

}  // namespace
}  // namespace longhaul
