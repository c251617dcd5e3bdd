#pragma once
// Threads that parse JSON, render templates and tokenize texts, separate from the network's and the
// engine's thread.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace longhaul::serve {

class TextPool {
 public:
  TextPool(int threads, size_t most_waiting);
  ~TextPool();

  /// Returns false if too many tasks are queued already. Tasks do not throw.
  bool add(std::function<void()> task);

 private:
  void work();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace longhaul::serve
