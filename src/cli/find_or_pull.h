#pragma once
// Resolves a model by any kind of name, and downloads it if it is not on this machine.

#include <string>

#include "engine/model_source.h"

namespace longhaul {

/// A name, a path, hf:OWNER/REPO[:FILE or quantization] or a URL; the last two are downloaded if
/// necessary. Throws UserError.
ModelSource find_or_pull(const std::string& model);

}  // namespace longhaul
