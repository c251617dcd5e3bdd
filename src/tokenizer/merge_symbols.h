#pragma once
// Merges the symbols of one word by byte-pair encoding. The pair with the lowest rank is merged
// first. If ranks are equal, the leftmost pair is merged first. This continues until no pair can be
// merged. The symbols form a linked list, and a heap has the pairs. The time is therefore O(n log
// n) for a word of n symbols. Source: Sennrich et al. 2016 (arXiv 1508.07909).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/merge_table.h"

namespace longhaul {

/// A symbol is a part of a word. At first it is a byte or a character; later it is the result of
/// merges.
struct Symbol {
  int32_t id;    ///< token id; negative: not a token, so it cannot be merged
  size_t begin;  ///< offset of the symbol's first byte in the word
  size_t bytes;  ///< number of bytes; 0 after the symbol has been merged into its left neighbour
};

class SymbolMerger {
 public:
  /// Merges symbols in place. The remaining symbols keep their order.
  void merge(const MergeTable& table, std::vector<Symbol>& symbols);

 private:
  struct Candidate {
    int32_t rank;
    int32_t result;
    size_t left, right;         // indices of the two symbols
    int32_t left_id, right_id;  // ids at creation; the candidate is stale if one has changed
  };
  static bool later(const Candidate& a, const Candidate& b);
  void consider(const MergeTable& table, const std::vector<Symbol>& symbols, size_t left,
                size_t right);

  std::vector<Candidate> heap_;
  std::vector<size_t> next_, previous_;
};

}  // namespace longhaul
