#pragma once
// WorkerGroup runs a function in several threads at the same time, one thread per rank.

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace longhaul {

class WorkerGroup {
 public:
  /// Creates threads for ranks 1 to size - 1. The caller of run() is rank 0. Throws UserError if
  /// threads cannot be started.
  explicit WorkerGroup(int size);
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  /// Calls work(rank) for all ranks and waits for them. Returns one entry per rank: the exception
  /// that work(rank) threw, or null. If work(rank) throws, failed() is called immediately, so that
  /// the other ranks do not wait for this rank.
  std::vector<std::exception_ptr> run(const std::function<void(int rank)>& work,
                                      const std::function<void()>& failed);

 private:
  int size() const { return static_cast<int>(thrown_.size()); }
  void serve(int rank);
  void end();
  void work_of(int rank);

  const std::function<void(int)>* work_ = nullptr;
  const std::function<void()>* failed_ = nullptr;
  std::vector<std::exception_ptr> thrown_;
  std::atomic<uint32_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

}  // namespace longhaul
