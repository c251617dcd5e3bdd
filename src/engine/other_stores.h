#pragma once
// Models that other programs have put on this machine: used where they lie, never copied.

#include <vector>

#include "engine/model_names.h"

namespace longhaul {

/// The hub's cache (names OWNER/REPO, of GGUF files their own), ollama's store (NAME:TAG), LM
/// Studio's folders and llama.cpp's cache (the file's name). What cannot be read is left out.
std::vector<NamedModel> models_elsewhere();

}  // namespace longhaul
