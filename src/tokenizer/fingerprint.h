#pragma once

#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace longhaul {

/// A hash: equal for tokenizers that give the same ids and texts, whatever file they come from, and
/// different, collisions aside, where a token, a merge, a pattern or a step differs.
uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer);

}  // namespace longhaul
