#pragma once
// The tiny models of tests/data with other values in config.json.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "format/checkpoint.h"
#include "format/temp_folder.h"
#include "model/config.h"

namespace longhaul::testing_support {

class TinyConfig : public testing::Test {
 protected:
  /// The configuration of a tiny model with other values. Null removes a key.
  ModelConfig with(const std::string& model, const nlohmann::json& values) {
    namespace fs = std::filesystem;
    const fs::path from = fs::path(LONGHAUL_TEST_DATA) / "tiny_models" / model;
    std::ifstream in(from / "config.json");
    nlohmann::json config = nlohmann::json::parse(in);
    config.update(values);
    for (auto it = config.begin(); it != config.end();)
      it = it->is_null() ? config.erase(it) : ++it;
    folder_.write("config.json", config.dump());
    for (const char* file : {"model.safetensors", "tokenizer.json"}) {
      fs::copy_file(from / file, folder_.path() / file, fs::copy_options::overwrite_existing);
    }
    return read_config(open_checkpoint(folder_.path()));
  }
  /// The folder that with() has written.
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace longhaul::testing_support
