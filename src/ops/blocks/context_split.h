#pragma once
// Divides a long context into first tokens, blocks of old tokens, and a remainder that contains the
// window (InfLLM, arXiv:2402.04617).

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// The first tokens [0, init), then `blocks` blocks, then the remainder.
struct ContextSplit {
  int64_t init = 0, blocks = 0;
  int64_t remainder = 0;  ///< first token of the remainder
};

struct ContextSizes {
  int64_t init = 128;    ///< number of first tokens, which every row sees
  int64_t local = 4096;  ///< size of a row's window, including the row itself
  int64_t block = 128;   ///< tokens per block
};

/// Divides a context of `tokens` tokens. Tokens that are older than the window first fill the
/// initial part, then blocks.
inline ContextSplit split_context(const ContextSizes& sizes, int64_t tokens) {
  ContextSplit split;
  const int64_t old = std::max<int64_t>(0, tokens - sizes.local);
  split.init = std::min(old, sizes.init);
  split.blocks = (old - split.init) / sizes.block;
  split.remainder = split.init + split.blocks * sizes.block;
  return split;
}

}  // namespace longhaul
