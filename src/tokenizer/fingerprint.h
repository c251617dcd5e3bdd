#pragma once

#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace longhaul {

/// The same for tokenizers that give the same ids and texts, whatever file they come from; another,
/// but for chance, where a token, a merge, a pattern or a step differs.
uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer);

}  // namespace longhaul
