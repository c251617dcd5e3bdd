#pragma once
// Selects the files of a repository that must be downloaded for a requested model.

#include <string>
#include <string_view>
#include <vector>

#include "hub/repository.h"

namespace longhaul {

struct ChosenFiles {
  std::vector<HubFile> files;
  /// Whether the files form a Hugging Face folder; false: they are GGUF files.
  bool folder = false;
  int64_t bytes() const;
};

/// Selects files. `choice` is the path or name of a file, or a quantization type such as q4_k_m. If
/// it is empty, selects a GGUF file by a fixed order of preferred types, which begins with Q4_K_M.
/// If the repository has no GGUF files, selects all files of the Hugging Face folder. All files of
/// a split GGUF model are selected together. Throws a UserError that lists the files if none or
/// several match, or if the type is not supported.
ChosenFiles choose_files(const HubRepository& repository, const std::string& choice);

/// Returns whether the name of a file contains the quantization type `type` as a separate word.
/// Case is ignored.
bool names_type(std::string_view file, std::string_view type);

}  // namespace longhaul
