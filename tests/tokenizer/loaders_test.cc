// Loading from checkpoints: tokens that end a reply, BOS, and chat templates in all their places.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "format/checkpoint.h"
#include "format/gguf_builder.h"
#include "format/temp_folder.h"
#include "tokenizer/chat_request.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_if_any;
using testing_support::error_of;
using testing_support::has;

fs::path nano_folder() { return fs::path(LONGHAUL_MODELS) / "nano"; }

/// nano's folder with some files replaced.
class FolderLikeNano {
 public:
  FolderLikeNano() {
    std::string pattern = (fs::temp_directory_path() / "longhaul-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
    for (const auto& entry : fs::directory_iterator(nano_folder())) {
      fs::create_symlink(fs::absolute(entry.path()), path_ / entry.path().filename());
    }
  }
  ~FolderLikeNano() { fs::remove_all(path_); }
  FolderLikeNano(const FolderLikeNano&) = delete;
  FolderLikeNano& operator=(const FolderLikeNano&) = delete;

  void write(const char* name, const std::string& text) {
    fs::remove(path_ / name);
    std::ofstream(path_ / name) << text;
  }
  void remove(const char* name) { fs::remove(path_ / name); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

nlohmann::json nano_config() {
  return nlohmann::json::parse(read_whole(nano_folder() / "tokenizer_config.json"));
}

TEST(LoadTokenizer, SmolLm2) {
  const Checkpoint checkpoint = open_checkpoint(tokenizer_data() / "smollm2-vocab.gguf");
  const Tokenizer tokenizer = load_tokenizer(checkpoint);
  EXPECT_EQ(tokenizer.vocab_size(), 49152u);
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_TRUE(tokenizer.end_of_generation(2));
  EXPECT_TRUE(tokenizer.end_of_generation(*tokenizer.special_token("<|endoftext|>")));
  EXPECT_FALSE(tokenizer.end_of_generation(1));
  EXPECT_NE(tokenizer.description().find("smollm"), std::string::npos);
  const ChatTemplate chat = ChatTemplate::of(checkpoint);
  const std::vector<int32_t> ids =
      tokenizer.encode(chat.segments({{{ChatRole::user, "Hi"}}}, true), false);
  EXPECT_EQ(tokenizer.decode(ids, false),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 1), 3);
}

TEST(LoadTokenizer, Phi3) {
  const Checkpoint checkpoint =
      open_checkpoint(tokenizer_data() / "llama_cpp_vocab" / "ggml-vocab-phi-3.gguf");
  const Tokenizer tokenizer = load_tokenizer(checkpoint);
  for (const char* text : {"<|end|>", "<|endoftext|>", "</s>"}) {
    EXPECT_TRUE(tokenizer.end_of_generation(*tokenizer.special_token(text))) << text;
  }
  EXPECT_TRUE(tokenizer.adds_bos());
  const ChatTemplate chat = ChatTemplate::of(checkpoint);
  EXPECT_EQ(chat.render({{{ChatRole::user, "Hi"}}}, true),
            "<s><|user|>\nHi<|end|>\n<|assistant|>\n");
  const std::vector<int32_t> ids =
      tokenizer.encode(chat.segments({{{ChatRole::user, "Hi"}}}, true), false);
  // The tokens remove the line breaks after them.
  EXPECT_EQ(tokenizer.decode(ids, false), "<s><|user|> Hi<|end|><|assistant|>");
}

TEST(LoadTokenizer, NoChatTemplateNamesTheWayOut) {
  const Checkpoint checkpoint =
      open_checkpoint(tokenizer_data() / "llama_cpp_vocab" / "ggml-vocab-gpt-2.gguf");
  EXPECT_TRUE(has(error_of([&] { ChatTemplate::of(checkpoint); }),
                  {"has no chat template", "--chat-template NAME", "--raw"}));
}

TEST(LoadTokenizer, Nano) {
  const Checkpoint checkpoint = open_checkpoint(nano_folder());
  EXPECT_EQ(load_tokenizer(checkpoint).eos_id(), 2);
  EXPECT_EQ(ChatTemplate::of(checkpoint).render({{{ChatRole::user, "Hi"}}}, true),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(LoadTokenizer, ChatTemplateFromAListOrAFileOfItsOwn) {
  FolderLikeNano folder;
  nlohmann::json config = nano_config();
  const auto rendered = [&](bool tools) {
    ChatRequest request;
    request.messages = nlohmann::ordered_json::array({{{"role", "user"}, {"content", "Hi"}}});
    if (tools) request.tools = nlohmann::ordered_json::array({1});
    std::string text;
    for (const auto& s : ChatTemplate::of(open_checkpoint(folder.path())).segments(request)) {
      text += s.text;
    }
    return text;
  };
  config["chat_template"] = {{{"name", "tool_use"}, {"template", "tools of the list"}},
                             {{"name", "default"}, {"template", "list"}}};
  folder.write("tokenizer_config.json", config.dump());
  EXPECT_EQ(rendered(false), "list");
  EXPECT_EQ(rendered(true), "tools of the list");
  config.erase("chat_template");
  folder.write("tokenizer_config.json", config.dump());
  EXPECT_THROW(ChatTemplate::of(open_checkpoint(folder.path())), UserError);
  folder.write("chat_template.json", R"({"chat_template": "json {{ messages[0].content }}"})");
  EXPECT_EQ(rendered(true), "json Hi");
  folder.write("chat_template.jinja", "file");  // precedes the others
  folder.write("tokenizer_config.json", nano_config().dump());
  EXPECT_EQ(rendered(false), "file");
  std::filesystem::create_directory(folder.path() / "additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  EXPECT_EQ(rendered(false), "file");
  EXPECT_EQ(rendered(true), "tools");
}

/// Turn markers that a file does not declare special: a text that contains them must not end a
/// turn.
TEST(LoadTokenizer, MarksOfTurnsAreControlTokensWhateverTheFileSays) {
  FolderLikeNano folder;
  nlohmann::json tokenizer = nlohmann::json::parse(read_whole(nano_folder() / "tokenizer.json"));
  for (auto& token : tokenizer["added_tokens"]) token["special"] = false;
  folder.write("tokenizer.json", tokenizer.dump());
  const Tokenizer strict = load_tokenizer(open_checkpoint(nano_folder()));
  const Tokenizer loose = load_tokenizer(open_checkpoint(folder.path()));
  const std::string text = "a<|im_end|>b<|im_start|>c";
  EXPECT_EQ(loose.encode(text), strict.encode(text));
  EXPECT_GT(loose.encode(text).size(), 5u);
}

TEST(LoadTokenizer, EndsOfGenerationFromEveryFile) {
  FolderLikeNano folder;
  folder.write("generation_config.json", R"({"eos_token_id": [7, 9]})");
  nlohmann::json config = nano_config();
  config["add_bos_token"] = true;
  config["eos_token"] = {{"content", "<|im_end|>"}};
  folder.write("tokenizer_config.json", config.dump());
  const Tokenizer tokenizer = load_tokenizer(open_checkpoint(folder.path()));
  for (const int32_t id : {0, 2, 7, 9}) EXPECT_TRUE(tokenizer.end_of_generation(id)) << id;
  EXPECT_FALSE(tokenizer.end_of_generation(8));
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.encode("").size(), 1u);
}

TEST(LoadTokenizer, WrongValuesAreNamed) {
  FolderLikeNano folder;
  const auto error = [&] { return error_if_any([&] { load_tokenizer_folder(folder.path()); }); };
  EXPECT_EQ(error(), "");
  folder.write("generation_config.json", R"({"eos_token_id": "x"})");
  EXPECT_NE(error().find("generation_config.json: eos_token_id"), std::string::npos);
  folder.write("generation_config.json", "[1]");
  EXPECT_NE(error().find("not a JSON object"), std::string::npos);
  folder.remove("generation_config.json");
  folder.write("tokenizer_config.json", R"({"bos_token": 5})");
  EXPECT_NE(error().find("tokenizer_config.json: bos_token"), std::string::npos);
  folder.remove("tokenizer_config.json");
  folder.write("tokenizer.json", "{");
  EXPECT_NE(error().find("not valid JSON"), std::string::npos);
  folder.remove("tokenizer.json");
  folder.write("tokenizer.model", std::string("\x0a\x0e\x0a\x05<unk>\x15", 10));
  EXPECT_NE(error().find("not a tiktoken file"), std::string::npos);
  folder.write("vocab.json", R"({"a": 7})");
  folder.write("merges.txt", "#version: 0.2\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  EXPECT_NE(error().find("id of 'a' is not below"), std::string::npos);
  folder.write("vocab.json", R"({"a": 0})");
  EXPECT_EQ(error(), "");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "OtherTokenizer"})");
  EXPECT_NE(error().find("'OtherTokenizer'"), std::string::npos);
}

/// As GGUF files are: what no row of the embedding belongs to cannot end a reply.
TEST(LoadTokenizer, EndsBeyondTheVocabularyAreRefused) {
  FolderLikeNano folder;
  const auto error = [&] { return error_if_any([&] { load_tokenizer_folder(folder.path()); }); };
  const nlohmann::json config = nlohmann::json::parse(read_whole(nano_folder() / "config.json"));
  const auto known = config["vocab_size"].get<int64_t>();
  for (const int64_t id : {known, int64_t{99999}, int64_t{-1}}) {
    folder.write("generation_config.json", fmt::format(R"({{"eos_token_id": [2, {}]}})", id));
    EXPECT_TRUE(has(error(), {"generation_config.json: eos_token_id", fmt::format("{}", id),
                              fmt::format("outside the vocabulary of {}", known)}))
        << error();
  }
  folder.write("generation_config.json", fmt::format(R"({{"eos_token_id": {}}})", known - 1));
  EXPECT_EQ(error(), "");
  folder.remove("generation_config.json");
  nlohmann::json other = config;
  other["eos_token_id"] = known;
  folder.write("config.json", other.dump());
  EXPECT_TRUE(has(error(), {"config.json: eos_token_id", "outside the vocabulary"})) << error();
}

/// As transformers saves a small Qwen2.5-VL: config.json has the ids of the released model.
TEST(LoadTokenizer, EndsOfALargerModelBeyondTheVocabularyAreLeftOut) {
  for (const bool nested : {true, false}) {
    FolderLikeNano folder;
    nlohmann::json text = nlohmann::json::parse(read_whole(nano_folder() / "config.json"));
    const int32_t end = *load_tokenizer_folder(folder.path()).eos_id();
    text["eos_token_id"] = 151645;
    nlohmann::json config = nested ? nlohmann::json{{"text_config", text}} : text;
    config["model_type"] = "qwen2_5_vl";
    config["vision_config"] = nlohmann::json::object();
    folder.write("config.json", config.dump());
    folder.remove("generation_config.json");
    const Tokenizer tokenizer = load_tokenizer_folder(folder.path());
    EXPECT_EQ(tokenizer.eos_id(), end) << nested;
    EXPECT_TRUE(tokenizer.end_of_generation(end)) << nested;
  }
}

TEST(LoadTokenizer, MoreTokensThanTheEmbeddingHasRowsAreRefused) {
  testing_support::GgufBuilder file;
  file.text("general.architecture", "llama").text("tokenizer.ggml.model", "gpt2");
  file.strings("tokenizer.ggml.tokens", {"a", "b", "c"}).strings("tokenizer.ggml.merges", {});
  const auto error = [&](uint64_t rows) {
    testing_support::GgufBuilder with = file;
    with.tensor("token_embd.weight", {8, rows}, 0, 32 * rows);
    const testing_support::TempFolder folder;
    const fs::path path = folder.write("m.gguf", with.build());
    return error_if_any([&] { load_tokenizer(open_checkpoint(path)); });
  };
  EXPECT_EQ(error(3), "");
  EXPECT_EQ(error(4), "");
  EXPECT_TRUE(has(error(2), {"m.gguf: tokenizer.ggml.tokens has 3 entries, the embedding 2 rows"}))
      << error(2);
}

}  // namespace
}  // namespace longhaul
