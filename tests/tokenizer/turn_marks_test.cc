// A reply ends where llama.cpp ends it, whatever kind of file the vocabulary comes from and
// whatever type the file gives the tokens. tests/data/tokenizer/ends_of_reply.json has the values.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/checkpoint.h"
#include "format/gguf_builder.h"
#include "format/temp_folder.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::GgufBuilder;
using testing_support::TempFolder;
using Texts = std::vector<std::string>;

constexpr int32_t kNormal = 1, kControl = 3, kUser = 4;

json vocabularies() { return json::parse(read_whole(tokenizer_data() / "ends_of_reply.json")); }

Tokenizer marks_from_gguf(const json& vocabulary, int32_t type) {
  Texts tokens = {"a"};
  const auto named = vocabulary["tokens"].get<Texts>();
  tokens.insert(tokens.end(), named.begin(), named.end());
  std::vector<int32_t> types(tokens.size(), type);
  types[0] = kNormal;
  const auto eos = std::find(tokens.begin(), tokens.end(), vocabulary["eos"].get<std::string>());
  GgufBuilder file;
  file.text("general.architecture", "llama").text("tokenizer.ggml.model", "gpt2");
  file.text("tokenizer.ggml.pre", "gpt-2").strings("tokenizer.ggml.tokens", tokens);
  file.array("tokenizer.ggml.token_type", GgufType::kI32, types);
  file.strings("tokenizer.ggml.merges", {});
  file.u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(eos - tokens.begin()));
  const TempFolder folder;
  return load_tokenizer(open_checkpoint(folder.write("m.gguf", file.build())));
}

Tokenizer marks_from_folder(const json& vocabulary, bool special) {
  json tokenizer = {
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", json::array()}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"added_tokens", json::array()}};
  int id = 1;
  for (const json& text : vocabulary["tokens"]) {
    tokenizer["added_tokens"].push_back({{"id", id++}, {"content", text}, {"special", special}});
  }
  const TempFolder folder;
  folder.write("tokenizer.json", tokenizer.dump());
  const std::filesystem::path config =
      folder.write("tokenizer_config.json", json{{"eos_token", vocabulary["eos"]}}.dump());
  return load_tokenizer_folder(config.parent_path());
}

void expect_ends(const Tokenizer& tokenizer, const json& vocabulary, const char* file) {
  const auto ends = vocabulary["ends"].get<Texts>();
  for (const auto& text : vocabulary["tokens"].get<Texts>()) {
    const auto id = tokenizer.special_token(text);
    const bool ends_reply = id && tokenizer.end_of_generation(*id);
    EXPECT_EQ(ends_reply, std::count(ends.begin(), ends.end(), text) == 1)
        << vocabulary["model"] << ", " << file << ": " << text;
  }
}

TEST(TurnMarks, RepliesEndWhereLlamaCppEndsThem) {
  for (const json& vocabulary : vocabularies()) {
    for (const int32_t type : {kControl, kUser, kNormal}) {
      expect_ends(marks_from_gguf(vocabulary, type), vocabulary, "GGUF");
    }
    for (const bool special : {true, false}) {
      expect_ends(marks_from_folder(vocabulary, special), vocabulary, "folder");
    }
  }
}

/// gpt-oss closes its analysis with `<|end|>` and goes on; in a conversation of several turns
/// replies end with it.
TEST(TurnMarks, AMessageOfAReplyEndsWithoutTheReply) {
  const json gpt_oss = vocabularies()[0];
  const Tokenizer tokenizer = marks_from_gguf(gpt_oss, kControl);
  const int32_t end = *tokenizer.special_token("<|end|>");
  EXPECT_FALSE(tokenizer.end_of_generation(end));
  EXPECT_TRUE(tokenizer.end_of_message(end));
  EXPECT_TRUE(tokenizer.end_of_message(*tokenizer.special_token("<|return|>")));
  EXPECT_FALSE(tokenizer.end_of_message(*tokenizer.special_token("<|start|>")));
  EXPECT_EQ(tokenizer.encode("<|end|>", {.parse_special = true}).size(), 1u);
  EXPECT_NE(tokenizer.encode("<|end|>"), std::vector<int32_t>{end});
}

}  // namespace
}  // namespace longhaul
