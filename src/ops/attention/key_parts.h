#pragma once
// Divides the keys of decode attention into parts. One thread processes one part at a time.

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// Returns the number of keys per part, for tasks with `all_keys` keys in total. It does not depend
/// on the number of threads. Sums are therefore merged in the same order on every machine, and a
/// reply does not depend on the number of threads.
inline int64_t keys_of_part(int64_t all_keys) {
  // A part has an overhead of about half a microsecond, the time of 30 keys, so it has at least 384
  // keys. Threads may wait for the slowest thread, at most for the time of one part. A part
  // therefore has at most 4,096 keys (75 microseconds). It has more if there would otherwise be
  // more than 48 parts (three for each of 16 threads).
  constexpr int64_t kLeastKeys = 384, kMostKeys = 4096, kFewestParts = 6, kManyParts = 48;
  return std::max(std::clamp(all_keys / kFewestParts, kLeastKeys, kMostKeys),
                  all_keys / kManyParts);
}

/// The parts of a task with `keys` keys. Each has about `keys_of_part` keys. Part p has keys
/// [begin(p), begin(p + 1)).
class KeyParts {
 public:
  KeyParts(int64_t keys, int64_t keys_of_part) : keys_(keys) {
    const int64_t most = keys_of_part + keys_of_part / 8, parts = (keys + most - 1) / most;
    // The number is even, so that two threads get equal work even with an odd number of heads.
    count_ = parts <= 1 ? 1 : parts + parts % 2;
  }
  int64_t count() const { return count_; }
  /// Returns the first key of the part. It is rounded to a multiple of 64, the group size of the
  /// kernel. For listed keys, a group is a page.
  int64_t begin(int64_t part) const {
    return part == count_ ? keys_ : (keys_ * part / count_ + kGroup / 2) / kGroup * kGroup;
  }

 private:
  static constexpr int64_t kGroup = 64;
  int64_t keys_, count_;
};

}  // namespace longhaul
