#pragma once
// Threads that compute the masks of constrained replies while a device computes the layers of the
// decode step.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace longhaul::serve {

class ReplyMaker;

class MaskThreads {
 public:
  static constexpr int kThreads = 2;

  ~MaskThreads();

  /// Begins to write the masks of these replies (ReplyMaker::write_mask). The threads are created
  /// when there are masks for the first time. wait() must be called before the next start().
  void start(std::vector<ReplyMaker*> replies);
  /// Returns when all masks are written. The calling thread writes masks as well.
  void wait();

 private:
  void work();
  void write_some();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReplyMaker*> replies_;
  std::atomic<size_t> next_ = 0;  ///< index of the next reply without a mask
  int64_t round_ = 0;             ///< number of calls of start()
  int busy_ = 0;                  ///< threads that write masks of this round
  bool stopping_ = false;
};

}  // namespace longhaul::serve
