// Broken or malicious files give one clear line each and never a crash.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "format/gguf_metadata.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::error_if_any;
using testing_support::error_of;
using testing_support::has;

json small_json() {
  return json::parse(R"({
    "added_tokens": [{"id": 3, "content": "<e>", "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
}

std::string error_in(const std::string& text) {
  return error_of([&] { parse_tokenizer_json(text, "t.json"); });
}

TEST(HostileTokenizerJson, TheUnchangedFileLoads) {
  const Tokenizer tokenizer(parse_tokenizer_json(small_json().dump(), "t.json"));
  EXPECT_EQ(tokenizer.encode("abba"), (std::vector<int32_t>{2, 1, 0}));
}

struct Change {
  const char* name;
  const char* patch;  // JSON merge patch
  const char* expected;
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class HostileTokenizerJsonChange : public testing::TestWithParam<Change> {};

TEST_P(HostileTokenizerJsonChange, GivesOneClearLine) {
  json document = small_json();
  document.merge_patch(json::parse(GetParam().patch));
  const std::string line = error_in(document.dump());
  EXPECT_NE(line.find(GetParam().expected), std::string::npos) << line;
  EXPECT_TRUE(line.starts_with("t.json")) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_LT(line.size(), 400u);
}

const Change kChanges[] = {
    {"no_model", R"({"model": null})", "model"},
    {"unigram", R"({"model": {"type": "Unigram"}})", "'Unigram' is not supported"},
    {"vocab_list", R"({"model": {"vocab": [1]}})", "model.vocab"},
    {"vocab_missing", R"({"model": {"vocab": null}})", "model.vocab"},
    {"id_text", R"({"model": {"vocab": {"a": "x"}}})", "id of 'a'"},
    {"id_negative", R"({"model": {"vocab": {"a": -1}}})", "-1 is out of range"},
    {"id_huge", R"({"model": {"vocab": {"a": 2000000000}}})", "2000000000"},
    {"id_beyond_int64", R"({"model": {"vocab": {"a": 18446744073709551615}}})", "id of 'a'"},
    {"id_twice", R"({"model": {"vocab": {"a": 1}}})", "same id"},
    {"merges_missing", R"({"model": {"merges": null}})", "model.merges"},
    {"merge_number", R"({"model": {"merges": [7]}})", "merges[0]"},
    {"merge_one_text", R"({"model": {"merges": ["ab"]}})", "blank between"},
    {"merge_triple", R"({"model": {"merges": [["a", "b", "c"]]}})", "merges[0]"},
    {"merge_unknown", R"({"model": {"merges": ["a c"]}})", "not in the vocabulary"},
    {"merge_line_break", R"({"model": {"merges": ["a \n\u001b[31m"]}})", "not in the vocabulary"},
    {"unk_unknown", R"({"model": {"unk_token": "<u>"}})", "'<u>'"},
    {"suffix", R"({"model": {"end_of_word_suffix": "</w>"}})", "end_of_word_suffix"},
    {"added_no_id", R"({"added_tokens": [{"content": "x"}]})", "added_tokens[0].id"},
    {"added_huge", R"({"added_tokens": [{"content": "x", "id": 1e18}]})", "added_tokens[0].id"},
    {"added_far", R"({"added_tokens": [{"content": "x", "id": 99999999}]})", "99999999"},
    {"added_not_list", R"({"added_tokens": 5})", "a list"},
    {"single_word", R"({"added_tokens": [{"content": "x", "id": 4, "single_word": true}]})",
     "single_word"},
    {"normalizer_unknown", R"({"normalizer": {"type": "Lowercase"}})", "'Lowercase'"},
    {"pre_tokenizer_unknown", R"({"pre_tokenizer": {"type": "BertPreTokenizer"}})", "Bert"},
    {"pattern_broken",
     R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}})",
     "malformed"},
    {"behaviour",
     R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Eaten"}})",
     "behavior"},
    {"post_unknown", R"({"post_processor": {"type": "BertProcessing"}})", "'BertProcessing'"},
    {"template_id",
     R"({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "s"}}],
         "special_tokens": {"s": {"ids": [77]}}}})",
     "ids[0]"},
};

INSTANTIATE_TEST_SUITE_P(All, HostileTokenizerJsonChange, testing::ValuesIn(kChanges),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(HostileTokenizerJson, NotJson) {
  EXPECT_NE(error_in("{\"a\": ").find("not valid JSON at byte"), std::string::npos);
  EXPECT_NE(error_in("").find("not valid JSON"), std::string::npos);
  EXPECT_NE(error_in("[]").find("t.json"), std::string::npos);
  EXPECT_NE(error_in("\"\xFF\"").find("not valid JSON"), std::string::npos);
}

TEST(HostileTokenizerJson, DeepNestingIsNoStackOverflow) {
  const std::string open(2'000'000, '['), close(2'000'000, ']');
  EXPECT_NE(error_in(open).find("t.json: is nested deeper than 64"), std::string::npos);
  EXPECT_NE(error_in("{\"model\": " + open + close + "}").find("64"), std::string::npos);
  std::string nested = "null";
  for (int i = 0; i < 8; ++i) {
    nested = R"({"type": "Sequence", "normalizers": [)" + nested + "]}";
  }
  json document = small_json();
  std::string text = document.dump();
  const size_t at = text.find("\"normalizer\":null");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 17, "\"normalizer\":" + nested);
  EXPECT_NE(error_in(text).find("deeply nested"), std::string::npos);
}

TEST(HostileTokenizerJson, ExplodingPatternEnds) {
  json document = small_json();
  document["pre_tokenizer"] =
      json::parse(R"({"type": "Split", "pattern": {"Regex": "(a|aa)+$"}, "behavior": "Isolated"})");
  const Tokenizer tokenizer(parse_tokenizer_json(document.dump(), "t.json"));
  EXPECT_THROW(tokenizer.encode(std::string(60, 'a') + "b"), UserError);
}

TEST(HostileTokenizerJson, MergesNeverMakeControlTokens) {
  json document = small_json();
  document["added_tokens"][0] = {{"id", 2}, {"content", "ab"}, {"special", true}};
  const Tokenizer tokenizer(parse_tokenizer_json(document.dump(), "t.json"));
  EXPECT_EQ(tokenizer.encode("ab"), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(tokenizer.encode("ab", {.parse_special = true}), std::vector<int32_t>{2});
}

/// Metadata in memory, with entries as in a GGUF file.
class FakeGguf {
 public:
  void text(const char* key, const std::string& value) {
    add({key, GgufType::kString, bytes(value), {}});
  }
  void number(const char* key, uint32_t value) {
    add({key, GgufType::kU32, bytes({reinterpret_cast<const char*>(&value), 4}), {}});
  }
  void texts(const char* key, const std::vector<std::string>& values) {
    std::string packed;
    for (const std::string& value : values) {
      const uint64_t size = value.size();
      packed.append(reinterpret_cast<const char*>(&size), 8).append(value);
    }
    array(key, GgufType::kString, values.size(), packed);
  }
  template <class T>
  void numbers(const char* key, GgufType type, const std::vector<T>& values) {
    array(key, type, values.size(),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
  const GgufMetadata& metadata() const { return metadata_; }

 private:
  void array(const char* key, GgufType element, size_t count, const std::string& packed) {
    add({key, GgufType::kArray, {}, {element, count, bytes(packed)}});
  }
  std::span<const std::byte> bytes(const std::string& value) {
    storage_.push_back(std::make_unique<std::string>(value));
    return std::as_bytes(std::span<const char>(*storage_.back()));
  }
  void add(const GgufEntry& entry) { metadata_.add(entry); }

  GgufMetadata metadata_{"m.gguf"};
  std::vector<std::unique_ptr<std::string>> storage_;
};

std::string error_in(const FakeGguf& file) {
  return error_if_any([&] { load_gguf_tokenizer(file.metadata()); });
}

FakeGguf byte_level(const std::vector<std::string>& merges = {"a b"}, const char* pre = "gpt-2") {
  FakeGguf file;
  file.text("tokenizer.ggml.model", "gpt2");
  file.text("tokenizer.ggml.pre", pre);
  file.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<e>"});
  file.texts("tokenizer.ggml.merges", merges);
  return file;
}

TEST(HostileGgufTokenizer, NamesWhatIsWrong) {
  EXPECT_EQ(error_in(byte_level()), "");
  EXPECT_NE(error_in(byte_level({"a c"})).find("tokenizer.ggml.merges: merge 0"),
            std::string::npos);
  EXPECT_NE(error_in(byte_level({"ab"})).find("blank between"), std::string::npos);
  EXPECT_NE(error_in(byte_level({}, "gpt-9")).find("'gpt-9' is not supported"), std::string::npos);
  EXPECT_NE(error_in(FakeGguf()).find("tokenizer.ggml.model"), std::string::npos);
  FakeGguf bert;
  bert.text("tokenizer.ggml.model", "bert");
  EXPECT_NE(error_in(bert).find("'bert' is not supported"), std::string::npos);
  FakeGguf far = byte_level();
  far.number("tokenizer.ggml.eos_token_id", 4);
  EXPECT_NE(error_in(far).find("eos_token_id is 4"), std::string::npos);
  FakeGguf types = byte_level();
  types.numbers<int32_t>("tokenizer.ggml.token_type", GgufType::kI32, {1, 1});
  EXPECT_NE(error_in(types).find("token_type has 2 entries for 4"), std::string::npos);
}

FakeGguf sentencepiece(const std::vector<std::string>& tokens, const std::vector<float>& scores) {
  FakeGguf file;
  file.text("tokenizer.ggml.model", "llama");
  file.texts("tokenizer.ggml.tokens", tokens);
  file.numbers("tokenizer.ggml.scores", GgufType::kF32, scores);
  return file;
}

TEST(HostileGgufTokenizer, Scores) {
  EXPECT_NE(error_in(sentencepiece({"a", "b"}, {1.f})).find("scores has 1 entries for 2"),
            std::string::npos);
  EXPECT_NE(error_in(sentencepiece({"a"}, {NAN})).find("not a number"), std::string::npos);
  EXPECT_NE(error_in(sentencepiece({std::string(5000, 'a')}, {0.f})).find("5000 bytes"),
            std::string::npos);
  EXPECT_EQ(error_in(sentencepiece({"a", "\xFF\xC0", ""}, {0.f, 0.f, 0.f})), "");
}

TEST(HostileGgufTokenizer, PartsWithoutATokenStillMerge) {
  // "ab" is a token, "b" is not. The characters merge nevertheless.
  const FakeGguf file = sentencepiece({"a", "ab", "\u2581"}, {0.f, -1.f, -2.f});
  const Tokenizer tokenizer(load_gguf_tokenizer(file.metadata()));
  EXPECT_EQ(tokenizer.encode("ab"), (std::vector<int32_t>{2, 1}));
}

TEST(HostileFolder, MissingFilesAreNamed) {
  EXPECT_TRUE(has(error_of([&] { load_tokenizer_folder(tokenizer_data() / "chat"); }),
                  {"no tokenizer.json"}));
}

}  // namespace
}  // namespace longhaul
