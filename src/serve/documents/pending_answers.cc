#include "serve/documents/pending_answers.h"

#include <algorithm>
#include <utility>

namespace longhaul::serve {

PendingAnswers::PendingAnswers() : thread_([this] { run(); }) {}

PendingAnswers::~PendingAnswers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PendingAnswers::add(const std::string& id, std::shared_ptr<http::Exchange> exchange, Make late,
                         std::chrono::milliseconds wait) {
  {
    const std::lock_guard lock(mutex_);
    waiting_[id] = {std::move(exchange), std::move(late), std::chrono::steady_clock::now() + wait};
  }
  changed_.notify_one();
}

std::shared_ptr<http::Exchange> PendingAnswers::take(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return nullptr;
  auto exchange = std::move(found->second.exchange);
  waiting_.erase(found);
  return exchange;
}

void PendingAnswers::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto next = std::ranges::min_element(
        waiting_, {}, [](const auto& entry) { return entry.second.deadline; });
    if (std::chrono::steady_clock::now() < next->second.deadline) {
      const auto deadline = next->second.deadline;
      changed_.wait_until(lock, deadline);
      continue;
    }
    const Waiting late = std::move(next->second);
    waiting_.erase(next);
    lock.unlock();
    late.exchange->reply(late.late());
    lock.lock();
  }
}

}  // namespace longhaul::serve
