#pragma once
// Models in Longhaul's own folders, without those of other programs.

#include <vector>

#include "engine/model_names.h"

namespace longhaul {

/// Everything in model_folders(), in their order. A name that occurs twice is listed once.
std::vector<NamedModel> own_models();

}  // namespace longhaul
