#pragma once
// Selects the files of a repository for the requested model.

#include <string>
#include <string_view>
#include <vector>

#include "hub/repository.h"

namespace longhaul {

struct ChosenFiles {
  std::vector<HubFile> files;
  bool folder = false;  ///< a Hugging Face folder, not GGUF
  int64_t bytes() const;
};

/// `choice` is a file's path or name, or a type such as q4_k_m. If it is empty, the result is
/// Q4_K_M or the most common other type in the repository, or the whole folder if it has no GGUF
/// files. A split set is chosen as a whole. Throws UserError with a list of the files if none or
/// several match, or if the type is unsupported.
ChosenFiles choose_files(const HubRepository& repository, const std::string& choice);

/// Whether a file's name contains this type as a separate word, ignoring case.
bool names_type(std::string_view file, std::string_view type);

}  // namespace longhaul
