#include "base/worker_group.h"

#include <system_error>

#include "base/await_change.h"
#include "base/error.h"
#include "base/thread_limits.h"

namespace longhaul {

WorkerGroup::WorkerGroup(int size) {
  thrown_.resize(static_cast<size_t>(size));
  try {
    for (int rank = 1; rank < size; ++rank) {
      threads_.emplace_back([this, rank] { serve(rank); });
    }
  } catch (const std::system_error& error) {
    end();
    user_error("{} devices need a thread each, which cannot be started: {}{}", size,
               error.code().message(), thread_limits());
  }
}

WorkerGroup::~WorkerGroup() { end(); }

void WorkerGroup::end() {
  ends_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerGroup::work_of(int rank) {
  std::exception_ptr& thrown = thrown_[static_cast<size_t>(rank)];
  thrown = nullptr;
  try {
    (*work_)(rank);
  } catch (...) {
    thrown = std::current_exception();
    (*failed_)();
  }
}

void WorkerGroup::serve(int rank) {
  for (uint32_t round = 0;; ++round) {
    await_change(round_, round, size());
    if (ends_) return;
    work_of(rank);
    busy_.fetch_sub(1);
    busy_.notify_one();
  }
}

std::vector<std::exception_ptr> WorkerGroup::run(const std::function<void(int)>& work,
                                                 const std::function<void()>& failed) {
  work_ = &work;
  failed_ = &failed;
  busy_ = static_cast<int>(threads_.size());
  round_.fetch_add(1);
  round_.notify_all();
  work_of(0);
  for (int busy; (busy = busy_.load()) > 0;) await_change(busy_, busy, size());
  return thrown_;
}

}  // namespace longhaul
