#pragma once

#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace longhaul {

/// A hash: equal for tokenizers that produce the same ids and texts, from any kind of file. It
/// differs (except for collisions) if a token, a merge, a pattern or a step differs.
uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer);

}  // namespace longhaul
