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

/// The most text that could be of use: as much as a context of `context` tokens could hold if all
/// were the longest there are (0: any length), and no more than can be tokenized in `memory` bytes
/// (0: what is free).
TextLimit text_limit(int64_t context = 0, size_t memory = 0);

/// "NAME: more than 5.0 MiB of text, REASON".
[[noreturn]] void refuse_longer_text(const std::string& name, const TextLimit& limit);

}  // namespace longhaul
