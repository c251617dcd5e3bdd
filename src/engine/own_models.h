#pragma once
// Models in the folders that are Longhaul's own, without what other programs keep.

#include <vector>

#include "engine/model_names.h"

namespace longhaul {

/// Everything in model_folders(), first place first; a name that appears twice is listed once.
std::vector<NamedModel> own_models();

}  // namespace longhaul
