#include "attention/operations.gpu.h"

#include "attention/operations.h"
#include "ops/core/gpu/operations.gpu.h"

namespace longhaul {

void add_method_operations() {
  using namespace cuda;
  operations_of_other_rooms() = {
      implement_adakv,  implement_expectedattention, implement_fastgen, implement_flexprefill,
      implement_infllm, implement_keydiff,           implement_ltri,    implement_reattention,
      implement_roco,   implement_xattention,
  };
}

}  // namespace longhaul
