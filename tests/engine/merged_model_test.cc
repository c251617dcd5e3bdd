// A model with a merged adapter that is read back, compared with the model and a separate adapter.

#include "model/merged_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/exact_logits.h"
#include "engine/open_adapters.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::exact_options;
using testing_support::furthest;
using testing_support::logits_at;
using testing_support::TempFolder;

const std::filesystem::path kMergedTiny = LONGHAUL_TEST_DATA "/tiny_models";
const std::filesystem::path kAdapters = LONGHAUL_TEST_DATA "/adapters";

struct Pair {
  const char* model;
  std::vector<const char*> adapters;
  std::vector<double> weights;
};

class Merged : public testing::TestWithParam<Pair> {
 protected:
  ModelSource source() const {
    ModelSource source{kMergedTiny / "gguf" / GetParam().model, {}, {}, {}};
    for (size_t i = 0; i < GetParam().adapters.size(); ++i) {
      source.adapters.push_back({kAdapters / GetParam().adapters[i], GetParam().weights[i]});
    }
    return source;
  }

  std::filesystem::path write(std::optional<DType> type) {
    const Checkpoint checkpoint = open_checkpoint(source().path);
    const auto adapters = open_adapters(source().adapters);
    const MergedModel merged(checkpoint, adapters, type);
    const auto path = folder_.path() / "merged.gguf";
    std::ofstream out(path, std::ios::binary);
    merged.write([&](std::span<const std::byte> bytes) {
      out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    });
    EXPECT_EQ(static_cast<size_t>(out.tellp()), merged.bytes());
    return path;
  }

  std::vector<float> last_logits(const std::shared_ptr<const Engine>& engine) const {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 48; ++i) ids.push_back((i * 37 + 11) % 250);
    return logits_at(engine, exact_options(), ids, {47})[0];
  }

 private:
  TempFolder folder_;
};

TEST_P(Merged, AnswersAsWithTheAdapterBeside) {
  const auto beside = last_logits(Engine::open(source()));
  const double of_adapter = furthest(beside, last_logits(Engine::open(source().path)));
  ASSERT_GT(of_adapter, 0.1);  // the difference that a file without the adapter would have
  EXPECT_LT(furthest(beside, last_logits(Engine::open(write(DType::F32)))), 1e-4);
  const double bf16 = furthest(beside, last_logits(Engine::open(write(DType::BF16))));
  EXPECT_LT(bf16, 0.15 * of_adapter);
  const double kept = furthest(beside, last_logits(Engine::open(write({}))));
  EXPECT_LT(kept, 0.15 * of_adapter);
  const double q8 = furthest(beside, last_logits(Engine::open(write(DType::Q8_0))));
  EXPECT_LT(q8, 0.15 * of_adapter);
}

TEST_P(Merged, LeavesTheRestAsItIs) {
  const Checkpoint before = open_checkpoint(source().path), after = open_checkpoint(write({}));
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  ASSERT_EQ(before.gguf().entries().size(), after.gguf().entries().size());
  size_t changed = 0;
  for (size_t i = 0; i < before.tensors().size(); ++i) {
    const TensorView &a = before.tensors()[i], &b = after.tensors()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.shape, b.shape);
    const bool same = a.type == b.type && std::equal(a.data, a.data + a.bytes(), b.data);
    changed += same ? 0 : 1;
    const bool is_matrix = a.rank == 2 && a.name != "token_embd.weight";
    EXPECT_TRUE(same || is_matrix) << a.name;
  }
  EXPECT_GT(changed, 0u);
  for (const GgufEntry& entry : before.gguf().entries()) {
    const GgufEntry* other = after.gguf().find(entry.key);
    ASSERT_NE(other, nullptr) << entry.key;
    EXPECT_EQ(before.gguf().describe(entry), after.gguf().describe(*other));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Merged,
    testing::Values(Pair{"llama_linear.gguf", {"gguf/llama_linear.gguf"}, {1}},
                    Pair{"llama_linear.gguf", {"llama_linear"}, {-0.5}},
                    Pair{"llama_linear.gguf", {"gguf/llama_q8_0.gguf", "llama_wide"}, {0.5, 1}},
                    Pair{"qwen2.gguf", {"gguf/qwen2.gguf"}, {1}},
                    Pair{"phi3.gguf", {"gguf/phi3.gguf"}, {1}}));

}  // namespace
}  // namespace longhaul
