#pragma once
// How the keys that few rows attend to are cut into parts, each of which a thread takes at once.

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// Keys of a part, of tasks with so many keys in all. They follow from the keys alone and not from
/// the threads that there are: sums are then merged in the same order on every machine, and a reply
/// is the same on any number of threads.
inline int64_t keys_of_part(int64_t all_keys) {
  // A part costs about half a microsecond besides its keys, as much as 30 of them: 384 is the least
  // that is worth it. 4,096 (75 microseconds) is the most that a thread should wait for another
  // one, until 48 parts in all come out, three for each of 16 threads.
  constexpr int64_t kLeastKeys = 384, kMostKeys = 4096, kFewestParts = 6, kManyParts = 48;
  return std::max(std::clamp(all_keys / kFewestParts, kLeastKeys, kMostKeys),
                  all_keys / kManyParts);
}

/// The parts of a task with `keys` keys, about `keys_of_part` each: part p is [begin(p),
/// begin(p + 1)).
class KeyParts {
 public:
  KeyParts(int64_t keys, int64_t keys_of_part) : keys_(keys) {
    const int64_t most = keys_of_part + keys_of_part / 8, parts = (keys + most - 1) / most;
    // An even number, so that two threads have as much each with an odd number of heads too.
    count_ = parts <= 1 ? 1 : parts + parts % 2;
  }
  int64_t count() const { return count_; }
  /// At whole groups of the kernel, which are a list's pages.
  int64_t begin(int64_t part) const {
    return part == count_ ? keys_ : (keys_ * part / count_ + kGroup / 2) / kGroup * kGroup;
  }

 private:
  static constexpr int64_t kGroup = 64;
  int64_t keys_, count_;
};

}  // namespace longhaul
