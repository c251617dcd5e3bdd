#include "http/event_stream.h"

#include <initializer_list>
#include <utility>

namespace longhaul::http {

bool EventStream::push(std::initializer_list<std::string_view> parts, bool last) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || finished_) return false;
    for (const std::string_view part : parts) queue_ += part;
    finished_ = last;
    if (!woken_) {
      woken_ = true;
      wake = wake_;
    }
  }
  if (wake) wake();
  return true;
}

void EventStream::set_ping(std::string bytes) {
  const std::lock_guard lock(mutex_);
  ping_ = std::move(bytes);
}

bool EventStream::ping() {
  std::string bytes;
  {
    const std::lock_guard lock(mutex_);
    bytes = ping_;
  }
  return push({bytes}, false);
}

bool EventStream::full() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() >= most_;
}

bool EventStream::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::string EventStream::take() {
  const std::lock_guard lock(mutex_);
  woken_ = false;
  return std::exchange(queue_, {});
}

bool EventStream::ended() const {
  const std::lock_guard lock(mutex_);
  return finished_ && queue_.empty();
}

void EventStream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  queue_ = {};
  wake_ = nullptr;
}

void EventStream::on_data(std::function<void()> wake) {
  bool waiting = false;
  {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    waiting = woken_;
  }
  if (waiting && wake_) wake_();
}

}  // namespace longhaul::http
