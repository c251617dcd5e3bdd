// Ids from Hugging Face tokenizers and llama.cpp for unusual texts
// (tools/make_tokenizer_goldens.py).

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/checkpoint.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

const nlohmann::json& golden() {
  static const auto parsed = nlohmann::json::parse(read_whole(tokenizer_data() / "golden.json"));
  return parsed;
}

std::vector<std::string> texts() {
  return nlohmann::json::parse(read_whole(tokenizer_data() / "texts.json"));
}

Tokenizer load_golden(const std::string& name) {
  if (name == "nano") {
    return load_tokenizer_folder(std::filesystem::path(LONGHAUL_MODELS) / "nano");
  }
  if (name.starts_with("small/")) {
    const auto path = tokenizer_data() / (name + ".json");
    return Tokenizer(parse_tokenizer_json(read_whole(path), path.string()));
  }
  const std::string file =
      name == "smollm2" ? "smollm2-vocab.gguf" : "llama_cpp_vocab/ggml-vocab-" + name + ".gguf";
  return load_tokenizer(open_checkpoint(tokenizer_data() / file));
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, SameIds) {
  const Tokenizer tokenizer = load_golden(GetParam());
  const nlohmann::json& expected = golden().at(GetParam());
  const std::vector<std::string> inputs = texts();
  ASSERT_GT(inputs.size(), 130u);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const bool special : {false, true}) {
      const char* key = special ? "special" : "plain";
      if (!expected.contains(key)) continue;
      const EncodeOptions options{.add_special = false, .parse_special = special};
      EXPECT_EQ(tokenizer.encode(inputs[i], options), expected[key][i].get<std::vector<int32_t>>())
          << key << " text " << i << ": " << inputs[i];
    }
  }
}

TEST_P(Golden, SameAffixesAndDecodedText) {
  const nlohmann::json& expected = golden().at(GetParam());
  const Tokenizer tokenizer = load_golden(GetParam());
  const std::vector<std::string> inputs = texts();
  if (expected.contains("with_affixes")) {
    EXPECT_EQ(tokenizer.encode(inputs[4]), expected["with_affixes"].get<std::vector<int32_t>>());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto ids = expected["special"][i].get<std::vector<int32_t>>();
    std::string streamed;
    Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = true});
    for (const int32_t id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.flush();
    EXPECT_EQ(streamed, tokenizer.decode(ids)) << "text " << i;
    if (!expected.contains("decoded")) continue;
    EXPECT_EQ(tokenizer.decode(ids), expected["decoded"][i].get<std::string>()) << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Golden,
                         testing::Values("nano", "smollm2", "gpt-2", "refact", "deepseek-coder",
                                         "llama-spm", "phi-3", "small/spm_like",
                                         "small/metaspace_like", "small/llama3_like",
                                         "small/splits_a", "small/splits_b", "small/splits_c",
                                         "small/prefix_space"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (c == '-' || c == '/') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace longhaul
