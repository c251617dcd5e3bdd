#pragma once
// Worker threads that run the same function as their caller, each for its own part, until all are
// done.

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace longhaul {

class Crew {
 public:
  /// Members 1 to size - 1 have their own threads; the caller of run() is member 0. Throws
  /// UserError if threads cannot be started.
  explicit Crew(int size);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Calls work(member) for all members. Returns the exception of each, or null. A member that
  /// throws calls failed() first, so that the others need not wait for it.
  std::vector<std::exception_ptr> run(const std::function<void(int member)>& work,
                                      const std::function<void()>& failed);

 private:
  int size() const { return static_cast<int>(thrown_.size()); }
  void serve(int member);
  void end();
  void work_of(int member);

  const std::function<void(int)>* work_ = nullptr;
  const std::function<void()>* failed_ = nullptr;
  std::vector<std::exception_ptr> thrown_;
  std::atomic<uint32_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

}  // namespace longhaul
