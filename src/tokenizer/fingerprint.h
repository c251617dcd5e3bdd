#pragma once

#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace longhaul {

/// Returns a hash of the tokenizer. It is equal for tokenizers that produce the same ids and texts,
/// whatever kind of file they come from. Except for collisions, it differs if a token, a merge, a
/// pattern or a step differs.
uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer);

}  // namespace longhaul
