#include "attention/stride_passes.h"

#include <algorithm>

namespace longhaul {

std::vector<Pass> StridePasses::plan(const PromptFacts& prompt, int64_t lead, int64_t stride) {
  lead_ = std::clamp<int64_t>(lead, 0, prompt.tokens);
  stride_ = stride;
  std::vector<Pass> passes;
  for (int64_t begin = 0; begin < prompt.tokens;) {
    const int64_t end = begin < lead_ ? lead_ : lead_ + ((begin - lead_) / stride + 1) * stride;
    const int64_t count = std::min({end - begin, prompt.tokens - begin, int64_t{prompt.chunk}});
    passes.push_back({begin, count});
    begin += count;
  }
  return passes;
}

bool StridePasses::ends_stride(const Pass& pass) const {
  const int64_t read = pass.begin + pass.count - lead_;
  return read > 0 && read % stride_ == 0;
}

}  // namespace longhaul
