// Replaces operations.gpu.cc in builds without CUDA (-DLONGHAUL_CUDA=OFF, the default).

#include "attention/operations.h"

namespace longhaul {

void add_method_operations() {}

}  // namespace longhaul
