// Hugging Face folders with a merged adapter: logits equal PEFT's with a separate adapter, and
// config.json and all other bytes are unchanged.

#include "model/merged_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/exact_logits.h"
#include "engine/open_adapters.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"
#include "model/gguf_model.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::error_of;
using testing_support::exact_options;
using testing_support::furthest;
using testing_support::GgufBuilder;
using testing_support::has;
using testing_support::logits_at;
using testing_support::TempFolder;

const fs::path kFolders = LONGHAUL_TEST_DATA "/tiny_models";
const fs::path kFolderAdapters = LONGHAUL_TEST_DATA "/adapters";

json read(const fs::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

void write_merged(const fs::path& model, const std::vector<AdapterSource>& sources,
                  const fs::path& out) {
  const Checkpoint checkpoint = open_checkpoint(model);
  const auto adapters = open_adapters(sources);
  const MergedFolder merged(checkpoint, adapters);
  fs::create_directory(out);
  size_t bytes = 0;
  for (const std::string& name : merged.files()) {
    std::ofstream file(out / name, std::ios::binary);
    merged.write(name, [&](std::span<const std::byte> piece) {
      file.write(reinterpret_cast<const char*>(piece.data()), std::ssize(piece));
      bytes += piece.size();
    });
  }
  EXPECT_EQ(bytes, merged.bytes());
  EXPECT_EQ(merged.files().back(), "config.json");
}

std::vector<std::byte> bytes_at(const TensorView& t) { return {t.data, t.data + t.bytes()}; }

/// Copies the folder with f32 weights, so that merging does not round.
void copy_in_f32(const fs::path& from, const fs::path& to) {
  fs::create_directory(to);
  fs::copy_file(from / "config.json", to / "config.json");
  fs::copy_file(from / "tokenizer.json", to / "tokenizer.json");
  const Checkpoint checkpoint = open_checkpoint(from);
  json header;
  std::string data;
  for (const TensorView& t : checkpoint.tensors()) {
    std::vector<float> values(static_cast<size_t>(t.elements()));
    dequantize_row(t.type, t.data, t.elements(), values.data());
    const std::vector<int64_t> shape(t.shape.begin(), t.shape.begin() + t.rank);
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header[t.name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::ofstream(to / "model.safetensors", std::ios::binary)
      << testing_support::safetensors(text, data);
}

class MergeOfFolder : public testing::TestWithParam<const char*> {
 protected:
  fs::path adapter() const { return kFolderAdapters / GetParam(); }
  json golden() const { return read(adapter() / "logits.json"); }
  fs::path model() const { return kFolders / golden()["model"].get<std::string>(); }

  /// Distance of the folder's logits from PEFT's.
  double from_golden(const fs::path& folder) const {
    const json want = golden();
    const auto ids = want["ids"].get<std::vector<int32_t>>();
    const auto positions = want["positions"].get<std::vector<int64_t>>();
    const auto rows =
        logits_at(Engine::open({folder, {}, {}, {}}), exact_options(), ids, positions);
    double most = 0;
    for (size_t p = 0; p < positions.size(); ++p) {
      most = std::max<double>(most, furthest(rows[p], want["logits"][p].get<std::vector<float>>()));
    }
    return most;
  }

  TempFolder folder_;
};

TEST_P(MergeOfFolder, LogitsEqualPeft) {
  const fs::path exact = folder_.path() / "f32", merged = folder_.path() / "merged";
  copy_in_f32(model(), exact);
  const double without = from_golden(exact);
  ASSERT_GT(without, 0.3);
  write_merged(exact, {{adapter(), 1}}, merged);
  EXPECT_LT(from_golden(merged), 2e-3);
  // In the folder's own bf16, each sum is rounded once.
  write_merged(model(), {{adapter(), 1}}, folder_.path() / "bf16");
  EXPECT_LT(from_golden(folder_.path() / "bf16"), 0.15 * without);
}

TEST_P(MergeOfFolder, LeavesTheRestAsItIs) {
  write_merged(model(), {{adapter(), 1}}, folder_.path() / "merged");
  const Checkpoint before = open_checkpoint(model());
  const Checkpoint after = open_checkpoint(folder_.path() / "merged");
  EXPECT_EQ(before.hf().config, after.hf().config);
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  size_t changed = 0;
  for (size_t i = 0; i < before.tensors().size(); ++i) {
    const TensorView &a = before.tensors()[i], &b = after.tensors()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.shape, b.shape);
    ASSERT_EQ(a.type, b.type);
    const bool same = bytes_at(a) == bytes_at(b);
    changed += same ? 0 : 1;
    EXPECT_TRUE(same || (a.rank == 2 && a.name != "model.embed_tokens.weight")) << a.name;
  }
  EXPECT_GT(changed, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, MergeOfFolder,
                         testing::Values("llama_linear", "llama_wide", "llama_q8_0", "qwen2",
                                         "phi3", "mistral"));

/// A GGUF adapter of one matrix whose metadata has angles and a length.
std::string with_angles(const std::string& architecture, const std::string& matrix,
                        uint64_t outputs) {
  GgufBuilder file;
  file.text("general.architecture", architecture).text("general.type", "adapter");
  file.text("adapter.type", "lora").number("adapter.lora.alpha", GgufType::kF32, 1.f);
  file.number(architecture + ".rope.freq_base", GgufType::kF32, 1e6f);
  file.u32(architecture + ".context_length", 4096);
  file.tensor(matrix + ".weight.lora_a", {64, 1}, testing_support::kF32, 64 * 4, '\x3c');
  file.tensor(matrix + ".weight.lora_b", {1, outputs}, testing_support::kF32, outputs * 4, '\x3c');
  return file.build();
}

TEST(MergeOfFolders, AnglesAndLengthStandWhereTheyStood) {
  TempFolder folder;
  const auto lora = folder.write("a.gguf", with_angles("llama", "blk.1.attn_v", 32));
  const fs::path out = folder.path() / "llama", images = folder.path() / "images";
  write_merged(kFolders / "llama_linear", {{lora, 1}}, out);
  json want = read(kFolders / "llama_linear/config.json");
  want["rope_theta"] = 1e6;
  want["max_position_embeddings"] = 4096;
  EXPECT_EQ(read(out / "config.json"), want);

  // The values go into the text part of a multimodal model's configuration. Its other parts are
  // unchanged.
  const auto of_gemma = folder.write("g.gguf", with_angles("gemma3", "blk.1.attn_v", 32));
  write_merged(kFolders / "gemma3_images", {{of_gemma, 1}}, images);
  const json config = read(images / "config.json");
  EXPECT_EQ(config["text_config"]["max_position_embeddings"], 4096);
  EXPECT_FALSE(config.contains("max_position_embeddings"));
  EXPECT_EQ(open_checkpoint(images).left_out(),
            open_checkpoint(kFolders / "gemma3_images").left_out());
}

TEST(MergeOfFolders, RefusesWhatAFolderCannotSay) {
  TempFolder folder;
  const auto of_head = folder.write("h.gguf", with_angles("llama", "output", 264));
  EXPECT_TRUE(has(error_of([&] {
                    write_merged(kFolders / "llama_linear", {{of_head, 1}}, folder.path() / "o");
                  }),
                  {"llama_linear", "output matrix is the embedding", "--lora"}));
  const auto yarn = folder.write("y.gguf", with_angles("llama", "blk.1.attn_v", 32));
  EXPECT_TRUE(has(error_of([&] {
                    write_merged(kFolders / "llama_yarn", {{yarn, 1}}, folder.path() / "o");
                  }),
                  {"llama_yarn", "trained length", "--lora"}));
}

/// Shards keep their names and their index. Weights in other formats are not copied.
TEST(MergeOfFolders, OfShardsAreShards) {
  TempFolder folder;
  const fs::path whole = folder.path() / "whole", out = folder.path() / "out";
  fs::create_directory(whole);
  fs::copy_file(kFolders / "llama_linear/config.json", whole / "config.json");
  fs::copy_file(kFolders / "llama_linear/tokenizer.json", whole / "tokenizer.json");
  for (const char* other : {"pytorch_model.bin", "consolidated.safetensors", "README.md"}) {
    std::ofstream(whole / other) << "x";
  }
  const Checkpoint one = open_checkpoint(kFolders / "llama_linear");
  std::string headers[2], data[2];
  json index;
  for (size_t i = 0; i < one.tensors().size(); ++i) {
    const TensorView& t = one.tensors()[i];
    std::string &header = headers[i % 2], &bytes = data[i % 2];
    const std::string shape = t.rank == 1 ? fmt::format("[{}]", t.shape[0])
                                          : fmt::format("[{},{}]", t.shape[0], t.shape[1]);
    if (!header.empty()) header += ",";
    header += testing_support::entry(t.name, "BF16", shape, bytes.size(), bytes.size() + t.bytes());
    bytes.append(reinterpret_cast<const char*>(t.data), t.bytes());
    index["weight_map"][t.name] = i % 2 == 0 ? "a.safetensors" : "b.safetensors";
  }
  for (size_t i = 0; i < 2; ++i) {
    std::string header = "{" + headers[i] + "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::ofstream(whole / (i == 0 ? "a.safetensors" : "b.safetensors"), std::ios::binary)
        << testing_support::safetensors(header, data[i]);
  }
  std::ofstream(whole / "model.safetensors.index.json") << index.dump();
  write_merged(whole, {{kFolderAdapters / "llama_linear", 1}}, out);
  write_merged(kFolders / "llama_linear", {{kFolderAdapters / "llama_linear", 1}},
               folder.path() / "single");
  const Checkpoint merged = open_checkpoint(out),
                   single = open_checkpoint(folder.path() / "single");
  ASSERT_EQ(merged.tensors().size(), one.tensors().size());
  for (const TensorView& t : single.tensors()) {
    EXPECT_EQ(bytes_at(t), bytes_at(merged.get(t.name))) << t.name;
  }
  for (const char* other : {"pytorch_model.bin", "consolidated.safetensors", "README.md"}) {
    EXPECT_FALSE(fs::exists(out / other)) << other;
  }
}

}  // namespace
}  // namespace longhaul
