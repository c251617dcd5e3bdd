#pragma once
// Finds models that other programs have downloaded to this machine. Longhaul uses the files in
// place and never copies them.

#include <vector>

#include "engine/model_names.h"

namespace longhaul {

/// Returns the models in these stores: the cache of the Hugging Face hub (by OWNER/REPO, and GGUF
/// files by their file names), the store of ollama (NAME:TAG), the folders of LM Studio, and the
/// cache of llama.cpp (name of the file). Unreadable entries are omitted.
std::vector<NamedModel> models_elsewhere();

}  // namespace longhaul
