#pragma once
// A TextPool is a pool of threads that parse JSON, render templates and tokenize texts. They are
// separate from the network's thread and the engine's thread.

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

  /// Queues a task. Returns false if too many tasks are queued. A task must not throw.
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
