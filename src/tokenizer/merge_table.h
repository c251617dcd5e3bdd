#pragma once
// The merges of neighbouring symbols and their order: pair of symbols -> (rank, symbol).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longhaul {

struct Merge {
  int32_t rank;    ///< lower merges first
  int32_t result;  ///< symbol: a token id, or beyond the vocabulary for characters without a token
};

class MergeTable {
 public:
  explicit MergeTable(size_t expected = 0);

  /// The first rank given to a pair counts.
  void add(int32_t left, int32_t right, Merge merge);
  /// Null if the two do not merge. Negative symbols never do.
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

  std::array<uint64_t, 2> secrets_;  // pairs come from files, which could be made to collide
  std::vector<Slot> slots_;          // size is a power of two, at most half full, linear probing
  size_t size_ = 0;
};

}  // namespace longhaul
