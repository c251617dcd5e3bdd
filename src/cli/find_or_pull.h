#pragma once
// Finds a model by any kind of name. The model is downloaded if it is not on this machine.

#include <string>

#include "engine/model_source.h"

namespace longhaul {

/// Finds a model. `model` is a name, a path, hf:OWNER/REPO[:FILE or quantization], or a URL. Models
/// of the last two forms are downloaded if necessary. Throws UserError.
ModelSource find_or_pull(const std::string& model);

}  // namespace longhaul
