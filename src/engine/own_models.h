#pragma once
// Lists the models in Longhaul's own folders. Models of other programs are not included.

#include <vector>

#include "engine/model_names.h"

namespace longhaul {

/// Returns all models in model_folders(), in the order of the folders. A name that occurs twice is
/// listed once.
std::vector<NamedModel> own_models();

}  // namespace longhaul
