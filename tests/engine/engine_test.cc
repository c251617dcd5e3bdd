#include "engine/engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/session.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

/// A copy of a tiny model whose tokenizer has `count` additional special tokens.
void copy_with_more_tokens(const fs::path& to, int count) {
  const fs::path from = fs::path(LONGHAUL_TEST_DATA) / "tiny_models/qwen2";
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  std::ifstream in(from / "tokenizer.json");
  json tokenizer = json::parse(in);
  for (int i = 0; i < count; ++i) {
    json added = tokenizer["added_tokens"].back();
    added["id"] = 264 + i;
    added["content"] = "<|more" + std::to_string(i) + "|>";
    tokenizer["added_tokens"].push_back(added);
  }
  std::ofstream(to / "tokenizer.json") << tokenizer.dump();
}

TEST(Engine, TokensThatTheWeightsDoNotKnowAreRefusedWhenAPromptHasThem) {
  const TempFolder folder;
  copy_with_more_tokens(folder.path(), 2);
  const auto engine = Engine::open(folder.path());
  ASSERT_EQ(engine->tokenizer().vocab_size(), 266u);
  Session session(engine, SessionOptions{});
  session.prefill(std::vector<int32_t>{1, 263});
  EXPECT_TRUE(has(error_of([&] {
                    session.prefill(std::vector<int32_t>{1, 265});
                  }),
                  {folder.path().string(), "token 265", "only 264"}));
  EXPECT_EQ(session.tokens().size(), 2u);
}

}  // namespace
}  // namespace longhaul
