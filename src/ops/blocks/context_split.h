#pragma once
// Division of a long context into first tokens, blocks and a remainder that contains the window
// (InfLLM, arXiv:2402.04617).

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// [0, init), then `blocks` blocks, then the remainder.
struct ContextSplit {
  int64_t init = 0, blocks = 0;
  int64_t remainder = 0;  ///< its first token
};

struct ContextSizes {
  int64_t init = 128;    ///< tokens visible to every row
  int64_t local = 4096;  ///< window of a row, including itself
  int64_t block = 128;   ///< tokens per block
};

/// Depends on the number of tokens only. The initial part is filled first, with tokens older than
/// the window.
inline ContextSplit split_context(const ContextSizes& sizes, int64_t tokens) {
  ContextSplit split;
  const int64_t old = std::max<int64_t>(0, tokens - sizes.local);
  split.init = std::min(old, sizes.init);
  split.blocks = (old - split.init) / sizes.block;
  split.remainder = split.init + split.blocks * sizes.block;
  return split;
}

}  // namespace longhaul
