#pragma once
// Limit of the text that is read before further checks: an endless pipe must not fill the memory.

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul {

struct TextLimit {
  size_t bytes;
  std::string reason;  ///< "what --ctx 100 could hold", for messages
};

/// The largest useful text: as much as a context of `context` tokens could hold with the longest
/// tokens (0: any length), and no more than can be tokenized in `memory` bytes (0: the free
/// memory).
TextLimit text_limit(int64_t context = 0, size_t memory = 0);

/// Throws "NAME: more than 5.0 MiB of text, REASON".
[[noreturn]] void refuse_longer_text(const std::string& name, const TextLimit& limit);

}  // namespace longhaul
