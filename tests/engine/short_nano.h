#pragma once
// The first layers of the test model nano, written to a folder of their own. They serve tests that
// compare two computations with each other, whatever the model replies: they take a third of the
// time of the whole model.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/dtype.h"
#include "engine/engine.h"
#include "engine/tiny_models.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"

namespace longhaul::testing_support {

inline constexpr int kShortNanoLayers = 4;

inline bool is_of_short_nano(const std::string& tensor) {
  const std::string layers = "model.layers.";
  return !tensor.starts_with(layers) || std::stoi(tensor.substr(layers.size())) < kShortNanoLayers;
}

inline std::shared_ptr<const Engine> open_short_nano() {
  const std::filesystem::path nano = LONGHAUL_MODELS "/nano";
  const TempFolder folder;  // the model stays mapped after its end
  nlohmann::json config = read_json(nano / "config.json"), header;
  config["num_hidden_layers"] = kShortNanoLayers;
  folder.write("config.json", config.dump());
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::copy(nano / file, folder.path() / file);
  }
  std::string data;
  const Checkpoint checkpoint = open_checkpoint(nano);
  for (const TensorView& tensor : checkpoint.tensors()) {
    if (!is_of_short_nano(tensor.name)) continue;
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.data), tensor.bytes());
    nlohmann::json& entry = header[tensor.name];
    entry["dtype"] = name_of(tensor.type);
    entry["data_offsets"] = {begin, data.size()};
    for (int i = 0; i < tensor.rank; ++i) {
      entry["shape"].push_back(tensor.shape[static_cast<size_t>(i)]);
    }
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data
  folder.write("model.safetensors", safetensors(text, data));
  return Engine::open(folder.path());
}

/// One for the whole process.
inline std::shared_ptr<const Engine> short_nano() {
  static const std::shared_ptr<const Engine> engine = open_short_nano();
  return engine;
}

}  // namespace longhaul::testing_support
