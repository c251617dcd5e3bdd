#include "attention/parts/passes.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace longhaul {
namespace {

/// Returns passes of about equal length that end at multiples of `unit` tokens, counted from prompt
/// token `from` (0 or negative). prompt.chunk determines the number of passes.
std::vector<Pass> unit_passes(const PromptFacts& prompt, int64_t from, int64_t unit) {
  LH_ASSERT(prompt.chunk >= unit && prompt.tokens >= 0);
  const int64_t units = (prompt.tokens - from + unit - 1) / unit, cap = prompt.chunk / unit;
  const int64_t count = (units + cap - 1) / cap;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = std::max<int64_t>(0, from + units * i / count * unit);
    const int64_t end = std::min(from + units * (i + 1) / count * unit, prompt.tokens);
    passes.push_back({begin, end - begin});
  }
  return passes;
}

}  // namespace

std::vector<Pass> equal_passes(const PromptFacts& prompt) {
  // Matrix kernels are fastest with multiples of 32 rows.
  return unit_passes(prompt, 0, prompt.chunk >= 128 ? 32 : 1);
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

void mark_taken_back(std::span<Pass> passes) {
  int64_t rows = 0;
  for (size_t i = 0; i < passes.size(); ++i) {
    Pass& pass = passes[i];
    if (!pass.discard) continue;
    rows += pass.count;
    const Pass* const next = i + 1 < passes.size() ? &passes[i + 1] : nullptr;
    const bool goes_on = next != nullptr && next->discard && next->stream == pass.stream &&
                         next->begin == pass.end();
    pass.taken_back = goes_on ? 0 : std::exchange(rows, 0);
  }
}

size_t passes_together(std::span<const Pass> next, int64_t chunk) {
  LH_ASSERT(!next.empty());
  size_t count = 1;
  int64_t rows = next.front().count;
  while (count < next.size() && rows + next[count].count <= chunk) rows += next[count++].count;
  const size_t most = count;
  while (count > 0 && count < next.size() && next[count - 1].discard) --count;
  return count > 0 ? count : most;
}

std::vector<Pass> tile_passes(const PromptFacts& prompt, int tile) {
  if (prompt.chunk < tile) return equal_passes(prompt);
  return unit_passes(prompt, -(prompt.begin % tile), tile);
}

}  // namespace longhaul
