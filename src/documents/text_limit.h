#pragma once
// The limit for the size of texts that are read before further checks. Without it, an endless pipe
// would fill the memory.

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul {

struct TextLimit {
  size_t bytes;
  std::string reason;  ///< why there is a limit, for messages, such as "what --ctx 100 could hold"
};

/// Returns the size of the largest useful text. A text is useful if a context of `context` tokens
/// could hold it with the longest tokens (0: any length), and if it can be tokenized in `memory`
/// bytes (0: the free memory).
TextLimit text_limit(int64_t context = 0, size_t memory = 0);

/// Throws DocumentError (kTooLong) with the message "NAME: more than 5.0 MiB of text, REASON".
[[noreturn]] void refuse_longer_text(const std::string& name, const TextLimit& limit);

}  // namespace longhaul
