#pragma once
// What the driver says of kernels, asked once for each. No lock is held while it is asked: a kernel
// of which it hears for the first time is loaded, which waits for all that the GPU has under way.
// That may wait for another GPU (one_shot.h), whose thread would wait for the lock.

#include <map>
#include <mutex>

namespace longhaul::cuda {

template <class Key, class Answer>
class AskedOnce {
 public:
  /// What ask() returned for `key` the first time. Threads that come at once may all ask; the
  /// answer of one of them is kept, and all answers are the same.
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
