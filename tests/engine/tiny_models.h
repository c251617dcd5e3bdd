#pragma once
// The tiny models of tests/data/tiny_models (README there), and logits of every row of a prompt.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "engine/exact_logits.h"
#include "engine/session.h"

namespace longhaul::testing_support {

inline nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

struct TinyModel {
  std::string name;
  std::filesystem::path model, golden;

  std::vector<int32_t> prompt() const { return read_json(golden)["ids"]; }
};

inline void PrintTo(const TinyModel& model, std::ostream* out) { *out << model.name; }

/// All models in `data`, the folder tests/data, by name.
inline std::vector<TinyModel> tiny_models(const std::filesystem::path& data) {
  namespace fs = std::filesystem;
  const fs::path root = data / "tiny_models";
  std::vector<TinyModel> models;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (fs::exists(entry.path() / "logits.json")) {
      models.push_back(
          {"hf_" + entry.path().filename().string(), entry.path(), entry.path() / "logits.json"});
    }
  }
  for (const auto& entry : fs::directory_iterator(root / "gguf")) {
    if (entry.path().extension() != ".gguf") continue;
    fs::path golden = entry.path();
    models.push_back(
        {"gguf_" + entry.path().stem().string(), entry.path(), golden.replace_extension(".json")});
  }
  std::sort(models.begin(), models.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

/// Logits of every row of a prompt, [rows, vocab].
inline std::vector<float> all_logits(const std::shared_ptr<const Engine>& engine,
                                     const SessionOptions& options,
                                     const std::vector<int32_t>& ids) {
  Session session(engine, options);
  const size_t vocab = static_cast<size_t>(engine->model().config.vocab);
  std::vector<float> logits(ids.size() * vocab);
  PrefillHooks hooks;
  hooks.all_logits = [&](int64_t first, int64_t rows, const float* values) {
    std::copy_n(values, static_cast<size_t>(rows) * vocab,
                logits.begin() + first * static_cast<int64_t>(vocab));
  };
  EXPECT_TRUE(session.prefill(ids, hooks));
  return logits;
}

}  // namespace longhaul::testing_support
