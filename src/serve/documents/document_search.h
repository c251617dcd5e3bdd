#pragma once
// Finds the passages of a document that contain a given text.

#include <string>
#include <string_view>
#include <vector>

#include "engine/passages.h"

namespace longhaul::serve {

struct FoundPassages {
  /// True: the passages contain the searched text; false: they only have some of its words.
  bool exact = true;
  std::vector<ByteRange> ranges;
};

/// Returns at most `most` sentences of `text` that contain `wanted`, in the order of the text. Case
/// is ignored, and all kinds of blanks are equal. If no sentence contains `wanted`, returns the
/// sentences that have the most words of `wanted`, the best sentence first.
FoundPassages find_passages(std::string_view text, std::string_view wanted, size_t most);

}  // namespace longhaul::serve
