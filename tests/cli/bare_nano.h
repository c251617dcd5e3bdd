#pragma once

#include "cli/program.h"

namespace longhaul::testing_support {

/// nano without the profiles that come with it.
inline std::filesystem::path bare_nano(const Program& program) {
  namespace fs = std::filesystem;
  const fs::path folder = program.folder().path() / "bare";
  fs::create_directory(folder);
  for (const auto& file : fs::directory_iterator(fs::path(LONGHAUL_MODELS) / "nano")) {
    const std::string name = file.path().filename().string();
    const bool weights = name.ends_with(".safetensors") || name.ends_with(".index.json");
    if (weights || name == "config.json" || name.starts_with("tokenizer")) {
      fs::create_symlink(file.path(), folder / name);
    }
  }
  return folder;
}

}  // namespace longhaul::testing_support
