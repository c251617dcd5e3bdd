#pragma once
// Requests about a document wait until the gate of the document opens, which happens when the
// prefill of the document has ended. report() stores the progress of the prefill.

#include <mutex>
#include <utility>

#include "serve/scheduler/job.h"

namespace longhaul::serve {

class PrefillGate {
 public:
  enum class State : uint8_t { kClosed, kOpen, kFailed };

  void report(int64_t done, int64_t total) {
    const std::lock_guard lock(mutex_);
    done_ = done;
    total_ = total;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kClosed) state_ = State::kOpen;
  }
  /// Makes every waiting request fail with this error. If it is called several times, the first
  /// error is used. It can also be called after open(): later requests then fail.
  void fail(JobError error) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kFailed) return;
    state_ = State::kFailed;
    error_ = std::move(error);
  }

  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  JobError error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  int64_t done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  mutable std::mutex mutex_;
  State state_ = State::kClosed;
  JobError error_;
  int64_t done_ = 0, total_ = 0;
};

}  // namespace longhaul::serve
