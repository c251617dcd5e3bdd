#pragma once
// Models that other programs have downloaded to this machine. They are used in place and never
// copied.

#include <vector>

#include "engine/model_names.h"

namespace longhaul {

/// The hub's cache (names OWNER/REPO; GGUF files have their own names), ollama's store (NAME:TAG),
/// LM Studio's folders and llama.cpp's cache (the file's name). Unreadable entries are left out.
std::vector<NamedModel> models_elsewhere();

}  // namespace longhaul
