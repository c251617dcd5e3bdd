// Fingerprints that distinguish models: a session of one model must not continue with another.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/byte_stream.h"
#include "base/error_of.h"
#include "engine/session.h"
#include "format/checkpoint.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

const fs::path kFingerprinted = fs::path(LONGHAUL_TEST_DATA) / "tiny_models";

/// File offset of a tensor's bytes.
size_t place_of(const fs::path& file, const char* name) {
  const Checkpoint checkpoint = open_checkpoint(file);
  std::ifstream in(file, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(in), {});
  for (const TensorView& tensor : checkpoint.tensors()) {
    if (tensor.name != name) continue;
    return all.find(std::string_view(reinterpret_cast<const char*>(tensor.data), tensor.bytes()));
  }
  return 0;
}

uint64_t with_changed_byte(const TempFolder& folder, size_t place) {
  const fs::path copy = folder.path() / "m.gguf";
  fs::copy_file(kFingerprinted / "gguf/llama_linear.gguf", copy,
                fs::copy_options::overwrite_existing);
  std::fstream file(copy, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(place));
  const auto changed = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(place));
  file.put(changed);
  file.close();
  return Engine::open(copy)->fingerprint();
}

TEST(Fingerprint, AByteAnywhereInASmallTensorIsAnotherModel) {
  const TempFolder folder;
  const fs::path file = kFingerprinted / "gguf/llama_linear.gguf";
  const uint64_t same = Engine::open(file)->fingerprint();
  EXPECT_EQ(Engine::open(file)->fingerprint(), same);
  const size_t begin = place_of(file, "blk.0.ffn_down.weight");
  ASSERT_GT(begin, 0u);
  for (const size_t offset : {size_t{0}, size_t{300}, size_t{1501}}) {
    EXPECT_NE(with_changed_byte(folder, begin + offset), same) << offset;
  }
}

/// The fingerprint of the folder's model with a changed tokenizer.json.
uint64_t with_tokenizer(const TempFolder& folder, const char* patch) {
  const fs::path model = folder.path() / "m";
  fs::remove_all(model);
  fs::copy(kFingerprinted / "llama_linear", model, fs::copy_options::recursive);
  std::ifstream in(kFingerprinted / "llama_linear/tokenizer.json");
  nlohmann::json document = nlohmann::json::parse(in);
  document.merge_patch(nlohmann::json::parse(patch));
  std::ofstream(model / "tokenizer.json") << document.dump(2);
  return Engine::open(model)->fingerprint();
}

TEST(Fingerprint, AnotherTokenizerIsAnotherModel) {
  const TempFolder folder;
  const uint64_t same = Engine::open(kFingerprinted / "llama_linear")->fingerprint();
  EXPECT_EQ(with_tokenizer(folder, "{}"), same) << "the same in another layout of the file";
  EXPECT_EQ(with_tokenizer(folder, R"({"version": "2.0"})"), same) << "says nothing about texts";
  EXPECT_NE(with_tokenizer(folder, R"({"normalizer": {"type": "NFC"}})"), same);
  EXPECT_NE(with_tokenizer(folder, R"j({"pre_tokenizer": {"type": "Split",
      "pattern": {"Regex": "a"}, "behavior": "Isolated"}})j"),
            same);
}

TEST(Fingerprint, ASessionOfAnotherModelIsRefused) {
  const TempFolder folder;
  const auto one = Engine::open(kFingerprinted / "gguf/llama_linear.gguf");
  Session saved(one, {});
  saved.prefill(std::vector<int32_t>{3, 4, 5});
  saved.save(folder.path() / "s");
  with_changed_byte(
      folder, place_of(kFingerprinted / "gguf/llama_linear.gguf", "blk.0.ffn_down.weight") + 1501);
  Session other(Engine::open(folder.path() / "m.gguf"), {});
  EXPECT_TRUE(has(error_of([&] { other.load(folder.path() / "s"); }), {"with another model"}));
}

TEST(Fingerprint, FactorsOfAConfigurationAreAnotherModel) {
  const TempFolder folder;
  const fs::path from = kFingerprinted / "falcon_h1";
  fs::copy(from, folder.path() / "m", fs::copy_options::recursive);
  std::ifstream in(from / "config.json");
  nlohmann::json config = nlohmann::json::parse(in);
  const uint64_t before = Engine::open(from)->fingerprint();
  EXPECT_EQ(Engine::open(folder.path() / "m")->fingerprint(), before);
  config["ssm_multipliers"][2] = 0.25;
  std::ofstream(folder.path() / "m/config.json") << config.dump();
  EXPECT_NE(Engine::open(folder.path() / "m")->fingerprint(), before);
}

/// Versions before 8 distinguished models only by the first bytes of their weights, so a session
/// could be loaded into another model.
TEST(Fingerprint, FilesOfOlderVersionsAreRefusedByName) {
  const TempFolder folder;
  Session session(Engine::open(kFingerprinted / "gguf/llama_linear.gguf"), {});
  for (const uint32_t version : {6u, 7u}) {
    ByteWriter out(folder.path() / "s");
    out.number(uint64_t{0x4b564c5548474e4cULL});
    out.number(version);
    out.finish();
    EXPECT_TRUE(has(error_of([&] { session.load(folder.path() / "s"); }),
                    {"session file of version " + std::to_string(version), "save it anew"}));
  }
}

}  // namespace
}  // namespace longhaul
