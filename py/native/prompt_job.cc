#include "prompt_job.h"

namespace longhaul::python {

PromptJob::Event PromptJob::next(std::chrono::milliseconds most) {
  std::function<void()> wake;
  Event event;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [&] { return ended_ || progress_ || !pieces_.empty(); });
    if (!pieces_.empty()) {
      event.kind = Event::Kind::kText;
      event.text = std::move(pieces_.front());
      pieces_.pop_front();
      if (pieces_.size() == kMostPieces / 2) wake = on_read_;
    } else if (progress_) {
      event.kind = Event::Kind::kProgress;
      event.progress = *progress_;
      progress_.reset();
    } else if (ended_) {
      event.kind = Event::Kind::kEnded;
    }
  }
  if (wake) wake();
  return event;
}

void PromptJob::skip_text() {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    skips_text_ = true;
    if (!pieces_.empty()) wake = on_read_;
    pieces_.clear();
  }
  if (wake) wake();
}

bool PromptJob::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void PromptJob::wait_ended() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_; });
}

void PromptJob::check() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

bool PromptJob::paused() const {
  const std::lock_guard lock(mutex_);
  return pieces_.size() >= kMostPieces;
}

void PromptJob::show(std::string_view text) {
  if (text.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (skips_text_) return;
    pieces_.emplace_back(text);
  }
  changed_.notify_one();
}

void PromptJob::show(int64_t done, int64_t total) {
  constexpr double kSeconds = 0.05;  // a progress bar needs no more
  const double now = since_submitted_.seconds();
  if (done < total && last_shown_ >= 0 && now - last_shown_ < kSeconds) return;
  last_shown_ = now;
  {
    const std::lock_guard lock(mutex_);
    progress_ = JobProgress{done, total, time_ ? time_->left(total) : 0};
  }
  changed_.notify_one();
}

void PromptJob::end(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    on_read_ = {};
  }
  changed_.notify_all();
}

}  // namespace longhaul::python
