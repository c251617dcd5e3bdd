#pragma once
// Byte-pair merging of one word: always the pair of lowest rank, and among equals the leftmost,
// until no pair merges. It uses a heap of pairs over a linked list: n log n in the word's length.
//  Source: Sennrich et al. 2016 (arXiv 1508.07909).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/merge_table.h"

namespace longhaul {

/// A part of a word: first a byte or character, later the result of merges.
struct Symbol {
  int32_t id;    ///< token id; negative: no token and no merges
  size_t begin;  ///< first byte of the word that it covers
  size_t bytes;  ///< 0 after it has been merged into its left neighbour
};

class SymbolMerger {
 public:
  /// Merges in place. The remaining symbols keep their order; merged ones are removed.
  void merge(const MergeTable& table, std::vector<Symbol>& symbols);

 private:
  struct Candidate {
    int32_t rank;
    int32_t result;
    size_t left, right;         // symbols
    int32_t left_id, right_id;  // ids at that time: a candidate is stale if either has changed
  };
  static bool later(const Candidate& a, const Candidate& b);
  void consider(const MergeTable& table, const std::vector<Symbol>& symbols, size_t left,
                size_t right);

  std::vector<Candidate> heap_;
  std::vector<size_t> next_, previous_;
};

}  // namespace longhaul
