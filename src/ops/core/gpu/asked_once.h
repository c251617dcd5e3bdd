#pragma once
// Caches kernel attributes that the CUDA driver reports. The lock of the cache is not held while
// the driver is queried. The first query for a kernel loads the kernel, and loading waits for all
// running work of the GPU. This work may in turn wait for another GPU (one_shot.gpu.h), and the
// host thread of that GPU may need the cache. If the lock were held during the query, the two
// threads could deadlock.

#include <map>
#include <mutex>

namespace longhaul::cuda {

template <class Key, class Answer>
class AskedOnce {
 public:
  /// Returns the cached value for `key`. If there is none, calls ask(), which queries the driver,
  /// and caches the value. Several threads may call ask() for the same key at the same time. Each
  /// then obtains the same value.
  template <class Ask>
  Answer of(const Key& key, Ask&& ask) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    const Answer answer = ask();
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(key, answer).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Answer> known_;
};

}  // namespace longhaul::cuda
