#pragma once
// Cache of kernel attributes that the driver reports. ask() runs without a lock: the first query of
// a kernel loads it, which waits for all work that the GPU has under way. That work may wait for
// another GPU (one_shot.gpu.h), whose thread would then wait for the lock.

#include <map>
#include <mutex>

namespace longhaul::cuda {

template <class Key, class Answer>
class AskedOnce {
 public:
  /// Returns the result of the first ask() for `key`. Concurrent threads may all call ask(). One of
  /// their answers, which are all equal, is kept.
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
