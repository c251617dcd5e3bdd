#pragma once
// MergeTable maps a pair of neighbouring symbols of a word to the symbol into which they are
// merged. A symbol is a part of a word (merge_symbols.h).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longhaul {

struct Merge {
  int32_t rank;  ///< pairs with lower ranks are merged first
  /// Resulting symbol: a token id, or an id beyond the vocabulary for a character without a token.
  int32_t result;
};

class MergeTable {
 public:
  explicit MergeTable(size_t expected = 0);

  /// Adds the merge of a pair. If the pair already has a merge, the first one is kept.
  void add(int32_t left, int32_t right, Merge merge);
  /// Returns the merge of a pair, or null if there is none. Negative symbols have no merges.
  const Merge* find(int32_t left, int32_t right) const;
  size_t size() const { return size_; }
  /// Calls visit(left, right, merge) for every pair, in unspecified order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key == kEmpty) continue;
      visit(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot.merge);
    }
  }

 private:
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  size_t home(uint64_t key) const;
  void grow();

  // Random numbers for the hash, because an attacker could make a file whose pairs collide.
  std::array<uint64_t, 2> secrets_;
  std::vector<Slot> slots_;  // size is a power of two, at most half full, linear probing
  size_t size_ = 0;
};

}  // namespace longhaul
