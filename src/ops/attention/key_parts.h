#pragma once
// Splits the keys that a decode step reads into parts. One thread processes one part at a time.

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// Returns the number of keys per part, if the tasks of a call have `all_keys` keys in total. The
/// number does not depend on the number of threads. Sums are therefore merged in the same order on
/// every machine, and generated text does not depend on the number of threads.
inline int64_t keys_of_part(int64_t all_keys) {
  // The overhead of a part is about half a microsecond, the time for 30 keys, so a part has at
  // least 384 keys. At the end of a call, threads may be idle for as long as the slowest part
  // takes. A part therefore has at most 4,096 keys (75 microseconds). It has more only if there
  // would otherwise be more than 48 parts (three for each of 16 threads).
  constexpr int64_t kLeastKeys = 384, kMostKeys = 4096, kFewestParts = 6, kManyParts = 48;
  return std::max(std::clamp(all_keys / kFewestParts, kLeastKeys, kMostKeys),
                  all_keys / kManyParts);
}

/// The parts of a task with `keys` keys. Each part has about `keys_of_part` keys. Part p has keys
/// [begin(p), begin(p + 1)).
class KeyParts {
 public:
  KeyParts(int64_t keys, int64_t keys_of_part) : keys_(keys) {
    const int64_t most = keys_of_part + keys_of_part / 8, parts = (keys + most - 1) / most;
    // The number of parts is even, so that two threads get equal work even if the number of heads
    // is odd.
    count_ = parts <= 1 ? 1 : parts + parts % 2;
  }
  int64_t count() const { return count_; }
  /// Returns the first key of the part. It is rounded to a multiple of 64, the number of keys that
  /// the kernel processes as a group. If pages are listed, a group is a page.
  int64_t begin(int64_t part) const {
    return part == count_ ? keys_ : (keys_ * part / count_ + kGroup / 2) / kGroup * kGroup;
  }

 private:
  static constexpr int64_t kGroup = 64;
  int64_t keys_, count_;
};

}  // namespace longhaul
