#pragma once
// Finds the passages of a document that contain a given text.

#include <string>
#include <string_view>
#include <vector>

#include "engine/passages.h"

namespace longhaul::serve {

struct FoundPassages {
  bool exact = true;  ///< true: the passages contain the text; false: they only share words with it
  std::vector<ByteRange> ranges;
};

/// Returns at most `most` sentences of `text` that contain `wanted`, in their order. Case is
/// ignored, and all kinds of blanks are equal. If no sentence contains `wanted`, returns those that
/// share most of its words, the best first.
FoundPassages find_passages(std::string_view text, std::string_view wanted, size_t most);

}  // namespace longhaul::serve
