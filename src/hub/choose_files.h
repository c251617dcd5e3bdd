#pragma once
// Selects the files of a repository for a requested model.

#include <string>
#include <string_view>
#include <vector>

#include "hub/repository.h"

namespace longhaul {

struct ChosenFiles {
  std::vector<HubFile> files;
  bool folder = false;  ///< true: a Hugging Face folder; false: GGUF files
  int64_t bytes() const;
};

/// Selects files. `choice` is the path or name of a file, or a type such as q4_k_m. If it is empty,
/// the result is Q4_K_M or, if there is none, the most common type of the repository. If the
/// repository has no GGUF files, the result is the whole folder. A split GGUF file is selected as a
/// whole. Throws UserError with a list of the files if none or several match, or if the type is
/// unsupported.
ChosenFiles choose_files(const HubRepository& repository, const std::string& choice);

/// Returns whether the name of a file contains this type as a separate word. Case is ignored.
bool names_type(std::string_view file, std::string_view type);

}  // namespace longhaul
