#pragma once
// A model by whatever names it: what is not on this machine is fetched.

#include <string>

#include "engine/model_source.h"

namespace longhaul {

/// A name, a path, hf:OWNER/REPO[:FILE or quantization] or a URL; the last two are fetched where
/// they have not been. Throws UserError.
ModelSource find_or_pull(const std::string& model);

}  // namespace longhaul
