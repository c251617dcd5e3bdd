#include "attention/parts/passes.h"

#include <algorithm>

#include "base/assert.h"

namespace longhaul {

std::vector<Pass> equal_passes(const PromptFacts& prompt) {
  LH_ASSERT(prompt.chunk > 0 && prompt.tokens >= 0);
  const int64_t unit = prompt.chunk >= 128 ? 32 : 1;  // 32 rows suit the matrix kernels
  const int64_t units = (prompt.tokens + unit - 1) / unit;
  const int64_t cap = prompt.chunk / unit;
  const int64_t count = (units + cap - 1) / cap;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = units * i / count * unit;
    const int64_t end = std::min(units * (i + 1) / count * unit, prompt.tokens);
    passes.push_back({begin, end - begin});
  }
  return passes;
}

std::vector<Pass> stride_passes(const PromptFacts& prompt, int64_t lead, int64_t stride) {
  std::vector<Pass> passes;
  for (int64_t begin = 0; begin < prompt.tokens;) {
    const int64_t end = begin < lead ? lead : lead + ((begin - lead) / stride + 1) * stride;
    const int64_t count = std::min({end - begin, prompt.tokens - begin, int64_t{prompt.chunk}});
    passes.push_back({begin, count});
    begin += count;
  }
  return passes;
}

bool ends_stride(const Pass& pass, int64_t lead, int64_t stride) {
  const int64_t read = pass.end() - lead;
  return read > 0 && read % stride == 0;
}

std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t lead, int64_t rows,
                                   int64_t last) {
  const int64_t chunk = prompt.chunk;
  const int64_t before = std::max<int64_t>(0, prompt.tokens - last);
  lead = std::clamp<int64_t>(lead, 0, before);
  std::vector<Pass> passes;
  for (int64_t begin = 0; begin < prompt.tokens; begin += passes.back().count) {
    const int64_t end = begin < lead ? lead : begin < before ? before : prompt.tokens;
    passes.push_back({begin, std::min(begin < lead ? chunk : std::min(rows, chunk), end - begin)});
  }
  return passes;
}

std::vector<Pass> tile_passes(const PromptFacts& prompt, int tile) {
  LH_ASSERT(prompt.chunk > 0 && prompt.tokens >= 0);
  if (prompt.chunk < tile) return equal_passes(prompt);
  const int64_t end = prompt.begin + prompt.tokens;
  const int64_t first = prompt.begin / tile;
  const int64_t tiles = (end + tile - 1) / tile - first, cap = prompt.chunk / tile;
  const int64_t count = (tiles + cap - 1) / cap;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = std::max(prompt.begin, (first + tiles * i / count) * tile);
    const int64_t to = std::min(end, (first + tiles * (i + 1) / count) * tile);
    passes.push_back({from - prompt.begin, to - from});
  }
  return passes;
}

}  // namespace longhaul
