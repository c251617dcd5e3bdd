#pragma once
// Passes of methods that evict every so many tokens, whatever `--chunk` is: the chunk only cuts a
// stride into several passes, with nothing forgotten in between.

#include <vector>

#include "attention/method.h"

namespace longhaul {

class StridePasses {
 public:
  /// The prompt's first `lead` tokens, then strides of `stride` tokens (the last may be shorter).
  std::vector<Pass> plan(const PromptFacts& prompt, int64_t lead, int64_t stride);
  /// Whether the pass ends a whole stride.
  bool ends_stride(const Pass& pass) const;

 private:
  int64_t lead_ = 0, stride_ = 1;
};

}  // namespace longhaul
