#pragma once

#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace longhaul {

/// Returns a hash of the tokenizer. Two tokenizers with the same tokens, merges, patterns and steps
/// have the same hash, even if they were loaded from files in different formats. If any of these
/// differs, the hashes differ (except for collisions).
uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer);

}  // namespace longhaul
