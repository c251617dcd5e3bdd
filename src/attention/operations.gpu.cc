#include "attention/operations.h"

#include "ops/core/gpu/operations.gpu.h"

/// The methods that have GPU operations of their own. For METHOD(x), methods/x/x.gpu.cc defines
/// implement_x(), which adds these operations to a device queue (GpuQueue::implement()).
#define LONGHAUL_METHODS_ON_GPUS(METHOD) \
  METHOD(adakv)                          \
  METHOD(expectedattention)              \
  METHOD(fastgen)                        \
  METHOD(flexprefill)                    \
  METHOD(infllm)                         \
  METHOD(keydiff)                        \
  METHOD(ltri)                           \
  METHOD(reattention)                    \
  METHOD(roco)                           \
  METHOD(xattention)

namespace longhaul {

#define LONGHAUL_DECLARE(name) void implement_##name(GpuQueue& queue);
namespace cuda {
LONGHAUL_METHODS_ON_GPUS(LONGHAUL_DECLARE)
}  // namespace cuda
#undef LONGHAUL_DECLARE

void add_method_operations() {
#define LONGHAUL_ENTRY(name) cuda::implement_##name,
  cuda::operations_of_other_rooms() = {LONGHAUL_METHODS_ON_GPUS(LONGHAUL_ENTRY)};
#undef LONGHAUL_ENTRY
}

}  // namespace longhaul
