#include "attention/registry.h"

#include "attention/operations.h"
#include "base/error.h"

/// All methods, in the order in which they are listed. METHOD(x) stands for the function
/// x_method().
#define LONGHAUL_ATTENTION_METHODS(METHOD) \
  METHOD(dense)                            \
  METHOD(streamingllm)                     \
  METHOD(lminfinite)                       \
  METHOD(ntk)                              \
  METHOD(trianglemix)                      \
  METHOD(triangle)                         \
  METHOD(minference)                       \
  METHOD(flexprefill)                      \
  METHOD(xattention)                       \
  METHOD(duo)                              \
  METHOD(snapkv)                           \
  METHOD(pyramidkv)                        \
  METHOD(adakv)                            \
  METHOD(keydiff)                          \
  METHOD(expectedattention)                \
  METHOD(tova)                             \
  METHOD(h2o)                              \
  METHOD(roco)                             \
  METHOD(citrus)                           \
  METHOD(infllm)                           \
  METHOD(ltri)                             \
  METHOD(reattention)                      \
  METHOD(fastgen)                          \
  METHOD(random)
// clang-format on

namespace longhaul {

#define LONGHAUL_DECLARE(name) MethodInfo name##_method();
LONGHAUL_ATTENTION_METHODS(LONGHAUL_DECLARE)
#undef LONGHAUL_DECLARE

namespace {
[[maybe_unused]] const bool operations_added = (add_method_operations(), true);  // before main()
}  // namespace

std::span<const MethodInfo> attention_methods() {
#define LONGHAUL_ENTRY(name) name##_method(),
  static const MethodInfo table[] = {LONGHAUL_ATTENTION_METHODS(LONGHAUL_ENTRY)};
#undef LONGHAUL_ENTRY
  return table;
}

void expect_room(std::string_view method, int64_t budget, int64_t sink, int64_t recent,
                 std::string_view key) {
  if (sink + recent <= budget) return;
  user_error("--attention {}: {}={}: must be at least sink + recent = {} + {}", method, key, budget,
             sink, recent);
}

}  // namespace longhaul
