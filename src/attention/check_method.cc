#include "attention/check_method.h"

#include <algorithm>
#include <limits>

namespace longhaul {

void check_method(const MethodSpec& method, const ModelShape& shape, DType kv_type,
                  PromptFacts prompt) {
  const std::unique_ptr<AttentionDriver> made = method.make(shape);
  made->layout(shape, kv_type);
  if (prompt.chunk == 0) {  // no method refuses by it: as few passes as can be
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    prompt.chunk = static_cast<int>(std::clamp<int64_t>(prompt.tokens, 1, kMost));
  }
  made->prepare(prompt);
}

}  // namespace longhaul
