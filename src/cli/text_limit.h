#pragma once
// How much text is read before anything else looks at it: an endless pipe must not fill the memory.

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul {

struct TextLimit {
  size_t bytes;
  std::string reason;  ///< "what --ctx 100 could hold", for a message
};

/// No more than could be of use: what the longest tokens of a context of `context` tokens (0: any)
/// would make, and what can be tokenized in `memory` bytes (0: what is free).
TextLimit text_limit(int64_t context = 0, size_t memory = 0);

/// "NAME: more than 5.0 MiB of text, REASON".
[[noreturn]] void refuse_longer_text(const std::string& name, const TextLimit& limit);

}  // namespace longhaul
