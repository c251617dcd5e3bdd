#pragma once
// Finds passages of a document that contain a text.

#include <string>
#include <string_view>
#include <vector>

#include "engine/passages.h"

namespace longhaul::serve {

struct FoundPassages {
  bool exact = true;  ///< they contain the text; false: none does, they share words with it
  std::vector<ByteRange> ranges;
};

/// At most `most` sentences of `text` that contain `wanted`, in their order; letters of any case
/// and any blanks are equal. If there are none: those that share most of its words, best first.
FoundPassages find_passages(std::string_view text, std::string_view wanted, size_t most);

}  // namespace longhaul::serve
