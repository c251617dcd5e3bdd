#pragma once
// Divides a long context into its first tokens, blocks of old tokens, and a remainder that contains
// the sliding window (InfLLM, arXiv:2402.04617).

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// A divided context: the first `init` tokens, then `blocks` blocks, then the remainder.
struct ContextSplit {
  int64_t init = 0, blocks = 0;
  int64_t remainder = 0;  ///< number of the remainder's first token
};

struct ContextSizes {
  int64_t init = 128;    ///< number of first tokens, which every query row sees
  int64_t local = 4096;  ///< size of a query row's window in tokens, including its own
  int64_t block = 128;   ///< tokens per block
};

/// Divides a context of `tokens` tokens. The tokens that are older than the window become the first
/// tokens, up to sizes.init, and then whole blocks. All other tokens are the remainder.
inline ContextSplit split_context(const ContextSizes& sizes, int64_t tokens) {
  ContextSplit split;
  const int64_t old = std::max<int64_t>(0, tokens - sizes.local);
  split.init = std::min(old, sizes.init);
  split.blocks = (old - split.init) / sizes.block;
  split.remainder = split.init + split.blocks * sizes.block;
  return split;
}

}  // namespace longhaul
