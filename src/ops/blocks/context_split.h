#pragma once
// How a long context is split into first tokens, blocks and a remainder that holds the window
// (InfLLM, arXiv:2402.04617).

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// [0, init), then `blocks` blocks, then the remainder.
struct ContextSplit {
  int64_t init = 0, blocks = 0;
  int64_t remainder = 0;  ///< first token of it
};

struct ContextSizes {
  int64_t init = 128;    ///< tokens that every row sees
  int64_t local = 4096;  ///< window of a row, itself included
  int64_t block = 128;   ///< tokens
};

/// Depends on the number of tokens only: the initial part fills first, from what is older than the
/// window.
inline ContextSplit split_context(const ContextSizes& sizes, int64_t tokens) {
  ContextSplit split;
  const int64_t old = std::max<int64_t>(0, tokens - sizes.local);
  split.init = std::min(old, sizes.init);
  split.blocks = (old - split.init) / sizes.block;
  split.remainder = split.init + split.blocks * sizes.block;
  return split;
}

}  // namespace longhaul
