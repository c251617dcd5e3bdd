// Folders with tokenizer.model of SentencePiece or tekken.json alone, compared with the libraries
// of these files (tools/make_tokenizer_file_goldens.py).

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/temp_folder.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::TempFolder;

std::string refusal_of(const std::filesystem::path& folder) {
  try {
    load_tokenizer_folder(folder);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(TestData, HoldsTheFilesThatTheSourceArchiveLeavesOut) {
  for (const char* name : {"llama3/tokenizer.model", "tekken/tekken.json", "chat/llama3.1.jinja",
                           "chat/mistral-large-2407.jinja", "chat/kimi-k2.jinja"}) {
    EXPECT_TRUE(std::filesystem::exists(tokenizer_data() / name))
        << name << " is not free, so the source archive leaves it out. Tests that read it fail. "
        << "Copy it from the repository.";
  }
}

class VocabularyFiles : public testing::TestWithParam<const char*> {};

TEST_P(VocabularyFiles, GiveTheTokensOfTheirLibraries) {
  const Tokenizer tokenizer = load_tokenizer_folder(tokenizer_data() / GetParam());
  const json texts = json::parse(read_whole(tokenizer_data() / "texts.json"));
  const json golden = json::parse(read_whole(tokenizer_data() / GetParam() / "golden.json"));
  ASSERT_EQ(golden.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i].get<std::string>();
    const auto ids = tokenizer.encode(text, {.add_special = false});
    EXPECT_EQ(ids, golden[i].get<std::vector<int32_t>>()) << texts[i];
    if (text.find("\u2581") != std::string::npos) continue;  // SentencePiece reads it as a blank
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
}

TEST_P(VocabularyFiles, BeginWithBosAndEndWithEos) {
  const Tokenizer tokenizer = load_tokenizer_folder(tokenizer_data() / GetParam());
  EXPECT_EQ(tokenizer.encode("Hello", {.add_special = true}).front(), 1);
  EXPECT_TRUE(tokenizer.end_of_generation(2));
}

INSTANTIATE_TEST_SUITE_P(All, VocabularyFiles, testing::Values("sentencepiece", "tekken"));

TEST(SentencePieceFile, DamagedFilesAreRefusedInOneLine) {
  const std::string whole = read_whole(tokenizer_data() / "sentencepiece/tokenizer.model");
  const TempFolder folder;
  folder.write("tokenizer.model", whole.substr(0, whole.size() - 3));
  EXPECT_NE(refusal_of(folder.path()).find("damaged as a SentencePiece model"), std::string::npos);
  folder.write("tokenizer.model", std::string_view("\n\x03\n\x01"
                                                   "a"));
  EXPECT_NE(refusal_of(folder.path()).find("model_type is unigram"), std::string::npos);
}

TEST(TekkenFile, ImpossibleValuesAreNamed) {
  json document = json::parse(read_whole(tokenizer_data() / "tekken/tekken.json"));
  const TempFolder folder;
  const auto refusal = [&](const char* path, const json& value) {
    json changed = document;
    changed[json::json_pointer(path)] = value;
    folder.write("tekken.json", changed.dump());
    return refusal_of(folder.path());
  };
  EXPECT_NE(refusal("/config/default_vocab_size", 5).find("default_vocab_size is 5"),
            std::string::npos);
  EXPECT_NE(refusal("/config/default_vocab_size", 90000).find("is 90000"), std::string::npos);
  EXPECT_NE(refusal("/vocab/7/rank", 9).find("is 9, expected 7"), std::string::npos);
  EXPECT_NE(refusal("/vocab/7/token_bytes", "*").find("not base64"), std::string::npos);
  EXPECT_NE(refusal("/special_tokens/1/rank", 10).find("10 ids are reserved"), std::string::npos);
  EXPECT_EQ(refusal("/config/version", "v9"), "");
}

}  // namespace
}  // namespace longhaul
