#include "format/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "format/gguf_builder.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::entry;
using testing_support::error_of;
using testing_support::GgufBuilder;
using testing_support::has;
using testing_support::header_of;
using testing_support::safetensors;
using testing_support::TempFolder;

std::string failure(const fs::path& path) {
  return error_of([&] { (void)open_checkpoint(path); });
}

GgufBuilder shard(uint16_t number, uint16_t count, const std::string& tensor) {
  GgufBuilder builder;
  builder.number("split.no", GgufType::kU16, number)
      .number("split.count", GgufType::kU16, count)
      .number("split.tensors.count", GgufType::kI32, int32_t{count})
      .u32("number", number)
      .tensor(tensor, {8, 2}, 0, 64, static_cast<char>(number + 1));
  return builder;
}

TEST(CheckpointGguf, OneFile) {
  const TempFolder folder;
  const auto path = folder.write("model.gguf", GgufBuilder()
                                                   .text("general.architecture", "llama")
                                                   .tensor("a", {32, 2}, 8, 68, 1)
                                                   .tensor("ids", {2}, 26, 8)
                                                   .build());
  const Checkpoint opened = open_checkpoint(path);
  EXPECT_EQ(opened.format(), CheckpointFormat::kGguf);
  EXPECT_EQ(opened.path(), path);
  EXPECT_EQ(opened.files(), std::vector<fs::path>{path});
  EXPECT_EQ(opened.total_bytes(), 68u);
  EXPECT_EQ(opened.gguf().get_string("general.architecture"), "llama");
  EXPECT_EQ(opened.get("a").type, DType::Q8_0);
  EXPECT_EQ(opened.get("a").shape[0], 2);
  EXPECT_EQ(opened.find("b"), nullptr);
  EXPECT_TRUE(has(error_of([&] { (void)opened.get("b"); }), {"model.gguf", "'b'", "missing"}));
  EXPECT_TRUE(has(error_of([&] { (void)opened.get("ids"); }), {"model.gguf", "'ids'", "I32"}));
  EXPECT_TRUE(has(error_of([&] { (void)opened.find("ids"); }), {"'ids'", "I32"}));
}

TEST(CheckpointGguf, ViewsSurviveAMove) {
  const TempFolder folder;
  Checkpoint first = open_checkpoint(
      folder.write("m.gguf", GgufBuilder().text("k", "v").tensor("t", {4}, 0, 16, 3).build()));
  const TensorView* view = first.find("t");
  const Checkpoint second = std::move(first);
  EXPECT_EQ(second.find("t"), view);
  EXPECT_EQ(view->data[15], std::byte{3});
  EXPECT_EQ(second.gguf().get_string("k"), "v");
}

TEST(CheckpointGguf, AnyShardFindsTheOthers) {
  const TempFolder folder;
  folder.write("m-00001-of-00003.gguf", shard(0, 3, "a").build());
  folder.write("m-00002-of-00003.gguf", shard(1, 3, "b").build());
  folder.write("m-00003-of-00003.gguf", shard(2, 3, "c").build());
  for (const char* name :
       {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    const Checkpoint opened = open_checkpoint(folder.path() / name);
    ASSERT_EQ(opened.files().size(), 3u);
    EXPECT_EQ(opened.files()[0].filename(), "m-00001-of-00003.gguf");
    EXPECT_EQ(opened.gguf().get_u64("number"), 0u) << "metadata is the first shard's";
    EXPECT_EQ(opened.tensors().size(), 3u);
    EXPECT_EQ(opened.total_bytes(), 3 * 64u);
    EXPECT_EQ(opened.get("c").data[0], std::byte{3});
  }
}

TEST(CheckpointGguf, BrokenSplits) {
  const TempFolder folder;
  const auto first = folder.write("m-00001-of-00002.gguf", shard(0, 2, "a").build());
  const std::string second = "m-00002-of-00002.gguf";
  EXPECT_TRUE(has(failure(first), {second, "missing", "shard 2 of 2"}));
  folder.write(second, shard(0, 2, "b").build());  // repeats the first shard
  EXPECT_TRUE(has(failure(first), {second, "shard 1 of 2", "name"}));
  folder.write(second, shard(1, 3, "b").build());
  EXPECT_TRUE(has(failure(first), {second, "shard 2 of 3"}));
  folder.write(second, shard(1, 2, "a").build());
  EXPECT_TRUE(has(failure(first), {"'a'", "two of its files"}));
  folder.write(second, shard(1, 2, "b").tensor("c", {4}, 0, 16).build());
  EXPECT_TRUE(has(failure(first), {"split.tensors.count is 2", "hold 3"}));
  folder.write(second, "GGUF");
  EXPECT_TRUE(has(failure(first), {second, "truncated"}));
}

TEST(CheckpointGguf, SplitNumbersAndNames) {
  const TempFolder folder;
  const auto renamed = folder.write("renamed.gguf", shard(0, 2, "a").build());
  EXPECT_TRUE(has(failure(renamed), {"renamed.gguf", "-00001-of-00002.gguf"}));
  const auto beyond = folder.write("beyond.gguf", shard(2, 2, "a").build());
  EXPECT_TRUE(has(failure(beyond), {"split.no 2", "split.count 2"}));
  const auto huge = folder.write(
      "huge.gguf", GgufBuilder().number("split.count", GgufType::kU64, uint64_t{1} << 50).build());
  EXPECT_TRUE(has(failure(huge), {"split.count 1125899906842624"}));
  const auto single = folder.write("one-00001-of-00001.gguf", shard(0, 1, "a").build());
  EXPECT_EQ(open_checkpoint(single).tensors().size(), 1u);
}

TEST(CheckpointGguf, OpensALargeVocabularyFast) {
  std::vector<std::string> tokens, merges;
  for (int i = 0; i < 128 * 1024; ++i) tokens.push_back("token" + std::to_string(i));
  for (int i = 0; i < 280 * 1000; ++i) merges.push_back("ab c" + std::to_string(i));
  const TempFolder folder;
  const auto path = folder.write("vocabulary.gguf", GgufBuilder()
                                                        .strings("tokenizer.ggml.tokens", tokens)
                                                        .strings("tokenizer.ggml.merges", merges)
                                                        .build());
  const Stopwatch open_watch;
  const Checkpoint opened = open_checkpoint(path);
  const double open_ms = open_watch.seconds() * 1e3;
  const Stopwatch list_watch;
  const auto views = *opened.gguf().find_strings("tokenizer.ggml.tokens");
  std::printf("128K tokens, 280K merges: open %.2f ms, list of tokens %.2f ms\n", open_ms,
              list_watch.seconds() * 1e3);
  EXPECT_EQ(views.back(), "token131071");
  EXPECT_LT(open_ms, 2000);  // holds on any machine; the aim is 50 ms
}

/// Writes a folder with config.json and the files of these tensors.
void write_config(const TempFolder& folder) {
  folder.write("config.json", R"({"model_type":"llama","hidden_size":8})");
}
std::string one_tensor(const std::string& name) {
  return safetensors(header_of({entry(name, "F32", "[2,2]", 0, 16)}), std::string(16, 7));
}
std::string index_of(const std::string& map) { return R"({"weight_map":)" + map + "}"; }

TEST(CheckpointHuggingFace, OneFile) {
  const TempFolder folder;
  write_config(folder);
  folder.write("generation_config.json", R"({"eos_token_id":[1,2]})");
  folder.write("tokenizer.json", "not read here");
  const auto file = folder.write("model.safetensors", one_tensor("w"));
  for (const fs::path& path : {folder.path(), file}) {
    const Checkpoint opened = open_checkpoint(path);
    EXPECT_EQ(opened.format(), CheckpointFormat::kHuggingFace);
    EXPECT_EQ(opened.files(), std::vector<fs::path>{file});
    EXPECT_EQ(opened.get("w").rows(), 2);
    EXPECT_EQ(opened.hf().config["hidden_size"], 8);
    EXPECT_EQ(opened.hf().generation_config["eos_token_id"][1], 2);
    EXPECT_TRUE(opened.hf().tokenizer_config.is_null());
    EXPECT_EQ(opened.hf().tokenizer_json, folder.path() / "tokenizer.json");
    EXPECT_EQ(opened.hf().folder, folder.path());
  }
}

TEST(CheckpointHuggingFace, ShardsByTheIndex) {
  const TempFolder folder;
  write_config(folder);
  folder.write("s1.safetensors", one_tensor("a"));
  const auto second = folder.write("s2.safetensors", one_tensor("b"));
  const auto other = folder.write("other.safetensors", one_tensor("alone"));
  folder.write("model.safetensors.index.json",
               index_of(R"({"b":"s2.safetensors","a":"s1.safetensors"})"));
  for (const fs::path& path : {folder.path(), second}) {
    const Checkpoint opened = open_checkpoint(path);
    EXPECT_EQ(opened.files().size(), 2u);
    EXPECT_NE(opened.find("a"), nullptr);
    EXPECT_NE(opened.find("b"), nullptr);
    EXPECT_TRUE(opened.hf().tokenizer_json.empty());
  }
  EXPECT_EQ(open_checkpoint(other).tensors().size(), 1u);
}

TEST(CheckpointHuggingFace, BrokenFolders) {
  const TempFolder folder;
  EXPECT_TRUE(has(failure(folder.path() / "none"), {"none", "no such file"}));
  EXPECT_TRUE(has(failure(folder.path()), {"no config.json"}));
  write_config(folder);
  EXPECT_TRUE(has(failure(folder.path()), {"model.safetensors", "index.json"}));
  folder.write("model.safetensors", one_tensor("w"));
  folder.write("config.json", "{");
  EXPECT_TRUE(has(failure(folder.path()), {"config.json", "no JSON"}));
  folder.write("config.json", "[]");
  EXPECT_TRUE(has(failure(folder.path()), {"config.json", "no JSON object"}));
  folder.write("config.json", R"({"a":1e999})");
  EXPECT_TRUE(has(failure(folder.path()), {"config.json", "number"}));
  folder.write("config.json", R"({"a":)" + std::string(100'000, '['));
  EXPECT_TRUE(has(failure(folder.path()), {"config.json", "deeper"}));
  fs::remove(folder.path() / "config.json");
  fs::create_directory(folder.path() / "config.json");
  EXPECT_TRUE(has(failure(folder.path()), {"config.json", "regular file"}));
}

TEST(CheckpointHuggingFace, AFileWithoutItsConfigIsNamed) {
  const TempFolder folder;
  const auto file = folder.write("lone.safetensors", one_tensor("w"));
  EXPECT_EQ(failure(file), file.string() + ": there is no config.json beside it");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(failure("lone.safetensors"), "lone.safetensors: there is no config.json beside it");
  write_config(folder);
  EXPECT_EQ(open_checkpoint("lone.safetensors").tensors().size(), 1u);
  fs::current_path(before);
}

TEST(Checkpoint, WhatIsNeitherAFileNorAFolder) {
  const TempFolder folder;
  for (const char* name : {"pipe", "pipe.safetensors"}) {
    const fs::path pipe = folder.path() / name;
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(failure(pipe), pipe.string() + ": neither a file nor a folder");
  }
  const fs::path long_name = folder.path() / std::string(300, 'x');
  EXPECT_TRUE(has(failure(long_name), {"xxx: cannot open: File name too long"}));
}

TEST(CheckpointHuggingFace, BrokenIndexes) {
  const TempFolder folder;
  write_config(folder);
  folder.write("s1.safetensors", one_tensor("a"));
  const auto with_index = [&](const std::string& text) {
    folder.write("model.safetensors.index.json", text);
    return failure(folder.path());
  };
  EXPECT_TRUE(has(with_index("{}"), {"index.json", "no weight_map"}));
  EXPECT_TRUE(has(with_index(index_of("{}")), {"no weight_map"}));
  EXPECT_TRUE(has(with_index(index_of("[1]")), {"no weight_map"}));
  EXPECT_TRUE(has(with_index(index_of(R"({"a":1})")), {"'a'", "no file name"}));
  for (const std::string name : {"../s1.safetensors", "/etc/passwd", "..", "", "s\\u0000x"}) {
    EXPECT_TRUE(has(with_index(index_of(R"({"a":")" + name + "\"}")), {"'a'", "no file of this"}));
  }
  EXPECT_TRUE(
      has(with_index(index_of(R"({"a":"s9.safetensors"})")), {"s9.safetensors", "missing"}));
  EXPECT_TRUE(
      has(with_index(index_of(R"({"z":"s1.safetensors"})")), {"s1.safetensors", "'z'", "missing"}));
  folder.write("s2.safetensors", one_tensor("a"));
  EXPECT_TRUE(has(with_index(index_of(R"({"a":"s1.safetensors","b":"s2.safetensors"})")),
                  {"'b'", "missing"}));
  folder.write(
      "s2.safetensors",
      safetensors(header_of({entry("a", "F32", "[1]", 0, 4), entry("b", "F32", "[1]", 4, 8)}),
                  "12345678"));
  EXPECT_TRUE(has(with_index(index_of(R"({"a":"s1.safetensors","b":"s2.safetensors"})")),
                  {"'a'", "two of its files"}));
}

TEST(CheckpointHuggingFace, TheEmbeddedModel) {
  const Checkpoint nano = open_checkpoint(fs::path(LONGHAUL_MODELS) / "nano");
  EXPECT_EQ(nano.files().size(), 4u);
  EXPECT_EQ(nano.tensors().size(), 110u);
  const TensorView& embedding = nano.get("model.embed_tokens.weight");
  EXPECT_EQ(embedding.rows(), 4096);
  EXPECT_EQ(embedding.cols(), 384);
  EXPECT_EQ(embedding.type, DType::BF16);
  EXPECT_EQ(nano.hf().config["num_hidden_layers"], 12);
}

}  // namespace
}  // namespace longhaul
