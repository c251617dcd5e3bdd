#pragma once
// Finds a model by any kind of name, and downloads it if necessary.

#include <string>

#include "engine/model_source.h"

namespace longhaul {

/// Finds a model. `model` is a name, a path, hf:OWNER/REPO[:FILE or quantization], or a URL. A
/// model of the last two forms is downloaded if it is not on this machine. Throws UserError if
/// there is no such model or if the download fails.
ModelSource find_or_pull(const std::string& model);

}  // namespace longhaul
