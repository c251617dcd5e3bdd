// Tokens of one byte are found by their names, as llama.cpp, transformers and SentencePiece find
// them, whatever type a file gives them and wherever it lists them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/checkpoint.h"
#include "format/gguf_builder.h"
#include "format/temp_folder.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::GgufBuilder;
using testing_support::TempFolder;

/// `<unk>`, then the 256 bytes, then three letters: xllamacpp 2026.10 gives these ids for "x\ny é"
/// with each of the types.
const std::vector<int32_t> kByteIds = {259, 257, 11, 258, 259, 196, 170};
constexpr const char* kByteText = "x\ny \u00E9";

std::vector<std::string> byte_texts() {
  std::vector<std::string> all = {"<unk>"};
  for (int byte = 0; byte < 256; ++byte) all.push_back(fmt::format("<0x{:02X}>", byte));
  for (const char* letter : {"x", "y", "\u2581"}) all.emplace_back(letter);
  return all;
}

Tokenizer bytes_from_gguf(int32_t type_of_bytes) {
  const std::vector<std::string> tokens = byte_texts();
  std::vector<int32_t> types(tokens.size(), 1);
  types[0] = 2;
  for (size_t id = 1; id <= 256; ++id) types[id] = type_of_bytes;
  GgufBuilder file;
  file.text("general.architecture", "llama").text("tokenizer.ggml.model", "llama");
  file.strings("tokenizer.ggml.tokens", tokens);
  file.array("tokenizer.ggml.token_type", GgufType::kI32, types);
  file.array("tokenizer.ggml.scores", GgufType::kF32, std::vector<float>(tokens.size(), 0));
  file.u32("tokenizer.ggml.unknown_token_id", 0);
  const TempFolder folder;
  return load_tokenizer(open_checkpoint(folder.write("m.gguf", file.build())));
}

Tokenizer bytes_from_folder(const json& added) {
  json vocab;
  int id = 0;
  for (const std::string& text : byte_texts()) vocab[text] = id++;
  const json tokenizer = {
      {"model",
       {{"type", "BPE"},
        {"vocab", vocab},
        {"merges", json::array()},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"byte_fallback", true}}},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "\u2581"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
          {{"type", "ByteFallback"}},
          {{"type", "Fuse"}},
          {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
      {"added_tokens", added}};
  const TempFolder folder;
  return load_tokenizer_folder(folder.write("tokenizer.json", tokenizer.dump()).parent_path());
}

TEST(ByteTokens, AreFoundByNameInGgufWhateverTheirType) {
  for (const int32_t type : {6, 1, 4, 3, 5}) {
    const Tokenizer tokenizer = bytes_from_gguf(type);
    EXPECT_EQ(tokenizer.encode(kByteText), kByteIds) << "type " << type;
    EXPECT_EQ(tokenizer.decode(kByteIds), kByteText) << "type " << type;
  }
}

TEST(ByteTokens, AreFoundByNameAmongAddedTokens) {
  json added = json::array({{{"id", 0}, {"content", "<unk>"}, {"special", true}}});
  EXPECT_EQ(bytes_from_folder(added).encode(kByteText), kByteIds);
  for (const bool special : {false, true}) {
    for (int byte = 0; byte < 256; ++byte) {
      added.push_back(
          {{"id", byte + 1}, {"content", fmt::format("<0x{:02X}>", byte)}, {"special", special}});
    }
    const Tokenizer tokenizer = bytes_from_folder(added);
    EXPECT_EQ(tokenizer.encode(kByteText), kByteIds) << special;
    EXPECT_EQ(tokenizer.decode(kByteIds), kByteText) << special;
  }
}

}  // namespace
}  // namespace longhaul
