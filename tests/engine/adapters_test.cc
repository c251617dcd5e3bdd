// Logits of whole models with LoRA adapters, compared with PEFT and with the model whose weights
// include the adapter's product. Goldens: tests/data/adapters (README there).

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/exact_logits.h"
#include "engine/session.h"
#include "engine/tiny_models.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"
#include "model/lora_file.h"
#include "ops/core/convert.h"
#include "ops/fake_device.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::entry;
using testing_support::error_of;
using testing_support::exact_options;
using testing_support::furthest;
using testing_support::has;
using testing_support::logits_at;
using testing_support::TempFolder;

const fs::path kData = LONGHAUL_TEST_DATA;

json read(const fs::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

void expect_golden(const json& golden, const std::shared_ptr<const Engine>& engine) {
  const auto ids = golden["ids"].get<std::vector<int32_t>>();
  const auto positions = golden["positions"].get<std::vector<int64_t>>();
  for (const auto& [chunk, on_device] : {std::pair{1024, false}, {5, false}, {1024, true}}) {
    SessionOptions options = exact_options(chunk);
    if (on_device) options.queue = testing_support::fake_queue();
    const auto rows = logits_at(engine, options, ids, positions);
    for (size_t p = 0; p < positions.size(); ++p) {
      const auto want = golden["logits"][p].get<std::vector<float>>();
      ASSERT_EQ(want.size(), rows[p].size());
      EXPECT_LT(furthest(rows[p], want), 2e-3)
          << "chunk " << chunk << ", on a device " << on_device;
    }
  }
}

class PeftAdapter : public testing::TestWithParam<const char*> {};

TEST_P(PeftAdapter, LogitsEqualPeft) {
  const fs::path folder = kData / "adapters" / GetParam();
  const json golden = read(folder / "logits.json");
  const fs::path model = kData / "tiny_models" / golden["model"].get<std::string>();
  expect_golden(golden, Engine::open({model, {{folder, 1}}, {}, {}}));
}

INSTANTIATE_TEST_SUITE_P(All, PeftAdapter,
                         testing::Values("llama_linear", "llama_wide", "llama_q8_0", "qwen2",
                                         "phi3", "mistral", "mistral_patterns", "qwen2_whole",
                                         "llama_own_head", "qwen3_5", "qwen3_next", "lfm2",
                                         "granite_hybrid", "falcon_h1"));

class GgufAdapter : public testing::TestWithParam<const char*> {};

TEST_P(GgufAdapter, LogitsEqualPeftOnTheStoredWeights) {
  const fs::path adapter = kData / "adapters/gguf" / (std::string(GetParam()) + ".gguf");
  fs::path file = adapter;
  const json golden = read(file.replace_extension(".json"));
  const fs::path model =
      kData / "tiny_models/gguf" / (golden["model"].get<std::string>() + ".gguf");
  expect_golden(golden, Engine::open({model, {{adapter, 1}}, {}, {}}));
}

/// With rounded products, decode rows use other kernels than prefill rows. Both stay near the exact
/// result.
TEST_P(GgufAdapter, RoundedProductsStayNear) {
  const fs::path adapter = kData / "adapters/gguf" / (std::string(GetParam()) + ".gguf");
  fs::path file = adapter;
  const json golden = read(file.replace_extension(".json"));
  const fs::path model =
      kData / "tiny_models/gguf" / (golden["model"].get<std::string>() + ".gguf");
  const auto with = Engine::open({model, {{adapter, 1}}, {}, {}});
  const auto without = Engine::open(model);
  const auto ids = golden["ids"].get<std::vector<int32_t>>();
  const auto last = static_cast<int64_t>(ids.size()) - 1;
  const auto want = golden["logits"][1].get<std::vector<float>>();
  for (const int chunk : {1024, 5}) {
    SessionOptions options;
    options.chunk = chunk;
    const auto row = logits_at(with, options, ids, {last})[0];
    const auto plain = logits_at(without, options, ids, {last})[0];
    EXPECT_LT(furthest(row, want), 0.25 * furthest(plain, want)) << "chunk " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufAdapter,
                         testing::Values("llama_linear", "llama_q8_0", "qwen2", "phi3"));

/// Tests the row order: PEFT's adapter on the GGUF model, and the GGUF adapter on the folder.
TEST(Adapters, GoWithTheOtherKindOfModel) {
  const fs::path peft = kData / "adapters/llama_linear",
                 gguf = kData / "adapters/gguf/llama_linear.gguf";
  const auto ids = read(peft / "logits.json")["ids"].get<std::vector<int32_t>>();
  for (const char* model : {"tiny_models/llama_linear", "tiny_models/gguf/llama_linear.gguf"}) {
    const auto one = Engine::open({kData / model, {{peft, 1}}, {}, {}});
    const auto other = Engine::open({kData / model, {{gguf, 1}}, {}, {}});
    EXPECT_EQ(logits_at(one, exact_options(0), ids, {47}),
              logits_at(other, exact_options(0), ids, {47}));
  }
}

/// Writes a model whose weights include the adapter's product.
void write_merged(const fs::path& model, const fs::path& adapter, double weight,
                  const TempFolder& folder) {
  fs::copy_file(model / "config.json", folder.path() / "config.json");
  fs::copy_file(model / "tokenizer.json", folder.path() / "tokenizer.json");
  const Checkpoint checkpoint = open_checkpoint(model);
  const LoraFile lora = LoraFile::open(adapter);
  std::string header, data;
  for (const TensorView& t : checkpoint.tensors()) {
    std::vector<float> values(static_cast<size_t>(t.elements()));
    dequantize_row(t.type, t.data, t.elements(), values.data());
    const std::string matrix = t.name.substr(0, t.name.rfind(".weight"));
    if (const auto found = lora.factors().find(matrix); found != lora.factors().end()) {
      const TensorView &a = found->second.a, &b = found->second.b;
      const auto factor = [](const TensorView& f, int64_t i) {
        return reinterpret_cast<const float*>(f.data)[i];
      };
      const int64_t rank = a.rows(), cols = t.cols();
      for (int64_t n = 0; n < t.rows(); ++n) {
        for (int64_t k = 0; k < cols; ++k) {
          double sum = 0;
          for (int64_t r = 0; r < rank; ++r) {
            sum += double{factor(b, n * rank + r)} * factor(a, r * cols + k);
          }
          values[static_cast<size_t>(n * cols + k)] +=
              static_cast<float>(weight * lora.scale(found->second) * sum);
        }
      }
    }
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    const std::string shape = t.rank == 1 ? fmt::format("[{}]", t.shape[0])
                                          : fmt::format("[{},{}]", t.shape[0], t.shape[1]);
    header += (header.empty() ? "{" : ",") + entry(t.name, "F32", shape, begin, data.size());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  folder.write("model.safetensors", testing_support::safetensors(header, data));
}

TEST(Adapters, EqualMergedWeightsAtEveryWeight) {
  const fs::path model = kData / "tiny_models/llama_linear",
                 adapter = kData / "adapters/llama_linear";
  const auto ids = read(adapter / "logits.json")["ids"].get<std::vector<int32_t>>();
  for (const double weight : {0.0, 0.5, -1.0}) {
    const TempFolder folder;
    write_merged(model, adapter, weight, folder);
    const auto merged = logits_at(Engine::open(folder.path()), exact_options(0), ids, {47})[0];
    const auto beside = logits_at(Engine::open({model, {{adapter, weight}}, {}, {}}),
                                  exact_options(0), ids, {47})[0];
    EXPECT_LT(furthest(merged, beside), 1e-3) << weight;
  }
}

TEST(Adapters, SeveralAddUp) {
  const fs::path model = kData / "tiny_models/llama_linear";
  const fs::path first = kData / "adapters/llama_linear", second = kData / "adapters/llama_wide";
  const auto ids = read(first / "logits.json")["ids"].get<std::vector<int32_t>>();
  const TempFolder once, twice;
  write_merged(model, first, 1, once);
  write_merged(once.path(), second, 0.25, twice);
  const auto merged = logits_at(Engine::open(twice.path()), exact_options(0), ids, {47})[0];
  const auto both = Engine::open({model, {{first, 1}, {second, 0.25}}, {}, {}});
  EXPECT_LT(furthest(logits_at(both, exact_options(0), ids, {47})[0], merged), 2e-3);
  // Two halves of an adapter equal the whole, for all types.
  const fs::path q8 = kData / "adapters/gguf/llama_q8_0.gguf";
  const auto whole = Engine::open({model, {{q8, 1}}, {}, {}});
  const auto halves = Engine::open({model, {{q8, 0.5}, {first, 0}, {q8, 0.5}}, {}, {}});
  EXPECT_LT(furthest(logits_at(whole, exact_options(0), ids, {47})[0],
                     logits_at(halves, exact_options(0), ids, {47})[0]),
            1e-3);
}

/// An adapter of an output matrix that is also the embedding.
TEST(Adapters, OfATiedMatrixLeaveTheEmbeddingAsItIs) {
  const fs::path model = kData / "tiny_models/qwen3";
  const auto plain = Engine::open(model);
  ASSERT_EQ(plain->model().head.data, plain->model().embedding.data);
  const int64_t rank = 2, hidden = plain->model().config.hidden;
  const auto vocab = plain->model().config.vocab;
  std::string data;
  for (int64_t i = 0; i < rank * (hidden + vocab); ++i) {
    const float value = static_cast<float>(i % 7 - 3) / 20;
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const auto middle = static_cast<size_t>(rank * hidden) * sizeof(float);
  std::string header = "{" +
                       entry("base_model.model.lm_head.lora_A.weight", "F32",
                             fmt::format("[{},{}]", rank, hidden), 0, middle) +
                       "," +
                       entry("base_model.model.lm_head.lora_B.weight", "F32",
                             fmt::format("[{},{}]", vocab, rank), middle, data.size()) +
                       "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const TempFolder folder;
  folder.write("adapter_model.safetensors", testing_support::safetensors(header, data));
  folder.write("adapter_config.json",
               R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["lm_head"]})");
  const auto with = Engine::open({model, {{folder.path(), 1}}, {}, {}});
  const std::vector<int32_t> ids = {5, 77, 130, 8, 41};
  SessionOptions there = exact_options(0);
  there.queue = testing_support::fake_queue();
  const auto row = logits_at(with, exact_options(0), ids, {4})[0];
  EXPECT_LT(furthest(logits_at(with, there, ids, {4})[0], row), 1e-4);
  EXPECT_GT(furthest(logits_at(plain, exact_options(0), ids, {4})[0], row), 1e-2);
}

TEST(Adapters, AreOtherModelsToSessionFiles) {
  const fs::path model = kData / "tiny_models/llama_linear",
                 adapter = kData / "adapters/llama_linear";
  const auto plain = Engine::open(model)->fingerprint();
  const auto with = Engine::open({model, {{adapter, 1}}, {}, {}})->fingerprint();
  const auto more = Engine::open({model, {{adapter, 2}}, {}, {}})->fingerprint();
  EXPECT_NE(plain, with);
  EXPECT_NE(with, more);
  EXPECT_EQ(with, Engine::open({model, {{adapter, 1}}, {}, {}})->fingerprint());
}

TEST(Adapters, OfOtherModelsAreRefused) {
  const auto open = [](const char* model, const char* adapter) {
    return error_of([&] { Engine::open({kData / model, {{kData / adapter, 1}}, {}, {}}); });
  };
  EXPECT_TRUE(has(open("tiny_models/gguf/qwen2.gguf", "adapters/gguf/phi3.gguf"),
                  {"phi3.gguf", "'phi3'", "qwen2 model"}));
  EXPECT_TRUE(
      has(open("tiny_models/qwen3", "adapters/llama_linear"), {"llama_linear", "is [64, 32]"}));
  EXPECT_TRUE(has(open("tiny_models/llama_linear", "adapters/phi3"),
                  {"gate_up_proj", "not part of a llama model of 2 layers"}));
}

}  // namespace
}  // namespace longhaul
