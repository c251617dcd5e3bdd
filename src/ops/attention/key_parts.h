#pragma once
// Divides the keys in decode attention into parts, each processed by one thread.

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// Returns the keys per part, for tasks with `all_keys` keys in total. The number of threads has no
/// influence, so sums are merged in the same order on every machine, and a reply does not depend on
/// the number of threads.
inline int64_t keys_of_part(int64_t all_keys) {
  // A part has an overhead of about half a microsecond, the time of 30 keys, so parts have at least
  // 384 keys. Threads wait for the slowest one, at most for the time of one part. Parts therefore
  // have at most 4,096 keys (75 microseconds), unless there would be more than 48 parts (three for
  // each of 16 threads).
  constexpr int64_t kLeastKeys = 384, kMostKeys = 4096, kFewestParts = 6, kManyParts = 48;
  return std::max(std::clamp(all_keys / kFewestParts, kLeastKeys, kMostKeys),
                  all_keys / kManyParts);
}

/// The parts of a task with `keys` keys, with about `keys_of_part` keys each. Part p has keys
/// [begin(p), begin(p + 1)).
class KeyParts {
 public:
  KeyParts(int64_t keys, int64_t keys_of_part) : keys_(keys) {
    const int64_t most = keys_of_part + keys_of_part / 8, parts = (keys + most - 1) / most;
    // The number is even, so that two threads get equal work even with an odd number of heads.
    count_ = parts <= 1 ? 1 : parts + parts % 2;
  }
  int64_t count() const { return count_; }
  /// Returns the first key of the part, rounded to whole groups of the kernel. In a list, a group
  /// is a page.
  int64_t begin(int64_t part) const {
    return part == count_ ? keys_ : (keys_ * part / count_ + kGroup / 2) / kGroup * kGroup;
  }

 private:
  static constexpr int64_t kGroup = 64;
  int64_t keys_, count_;
};

}  // namespace longhaul
