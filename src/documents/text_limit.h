#pragma once
// Defines the largest size of texts that are read. Without this limit, an endless pipe would fill
// the memory.

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhaul {

struct TextLimit {
  size_t bytes;
  /// Reason for the limit, which error messages state, such as "what --ctx 100 could hold".
  std::string reason;
};

/// Returns the size of the largest text that can be used. A larger text would exceed a context of
/// `context` tokens even if all its tokens were long (0: the context is not limited), or tokenizing
/// it would need more than `memory` bytes (0: the free memory).
TextLimit text_limit(int64_t context = 0, size_t memory = 0);

/// Throws DocumentError (kTooLong) with the message "NAME: more than 5.0 MiB of text, REASON".
[[noreturn]] void refuse_longer_text(const std::string& name, const TextLimit& limit);

}  // namespace longhaul
