#pragma once
// Which files of a repository make the model that was asked for.

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

/// `choice`: a file's path or name, or a type such as q4_k_m. Empty: Q4_K_M, or the most usual type
/// that the repository has instead; the whole folder where it has no GGUF files. A split set is
/// chosen as a whole. Throws UserError that lists the files where none or several fit, or where the
/// type cannot be read.
ChosenFiles choose_files(const HubRepository& repository, const std::string& choice);

/// Whether a file's name says that it holds this type: a word of its own, whatever the case.
bool names_type(std::string_view file, std::string_view type);

}  // namespace longhaul
