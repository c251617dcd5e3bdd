#pragma once
// Caches kernel attributes that the CUDA driver reports. The lock of the cache is not held while
// the driver is queried. The first query for a kernel loads the kernel, and loading waits for all
// running work of the GPU. The running work may wait for another GPU (one_shot.gpu.h). If the lock
// were held, the thread of the other GPU could wait for it forever.

#include <map>
#include <mutex>

namespace longhaul::cuda {

template <class Key, class Answer>
class AskedOnce {
 public:
  /// Returns the result of the first ask() for `key`. ask() queries the driver. Several threads may
  /// call ask() for the same key at the same time. Their answers are equal, and one of them is
  /// kept.
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
