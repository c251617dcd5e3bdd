#include "serve/scheduler/mask_threads.h"

#include <system_error>

#include "serve/scheduler/reply_maker.h"

namespace longhaul::serve {

MaskThreads::~MaskThreads() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MaskThreads::start(std::vector<ReplyMaker*> replies) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return busy_ == 0; });  // a thread may have woken after wait()
    replies_ = std::move(replies);
    next_ = 0;
    if (replies_.empty()) return;
    ++round_;
  }
  try {
    while (std::ssize(threads_) < kThreads) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // wait() computes what no thread computes
  }
  changed_.notify_all();
}

void MaskThreads::wait() {
  if (replies_.empty()) return;
  write_some();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
}

void MaskThreads::work() {
  std::unique_lock lock(mutex_);
  for (int64_t done = 0;;) {
    changed_.wait(lock, [&] { return stopping_ || round_ > done; });
    if (stopping_) return;
    done = round_;
    ++busy_;
    lock.unlock();
    write_some();
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void MaskThreads::write_some() {
  for (size_t i = next_++; i < replies_.size(); i = next_++) replies_[i]->write_mask();
}

}  // namespace longhaul::serve
