#include "base/cpu_limit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <mutex>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr int kSignal = SIGVTALRM;  // this program uses it for nothing else
constexpr int kExitUserFault = 2;

timespec time_of(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

thread_local CpuLimit* innermost = nullptr;
thread_local double scale_of_seconds = 1, scale_of_grace = 1;

}  // namespace

void CpuLimit::on_signal(int, siginfo_t* info, void*) {
  if (info->si_code != SI_TIMER) return;  // not sent by our timer
  auto* limit = static_cast<CpuLimit*>(info->si_value.sival_ptr);
  if (limit->used_up_ == 0) {
    limit->used_up_ = 1;
    return;
  }
  // Only async-signal-safe calls: the work has not called check(), so it cannot be stopped in
  // another way.
  (void)!write(STDERR_FILENO, limit->line_.data(), limit->line_.size());
  _exit(kExitUserFault);
}

CpuLimit::CpuLimit(double seconds, const std::string& line, double grace)
    : outer_(innermost), line_("error: " + line + "\n") {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(kSignal, &action, nullptr);
  });
  innermost = this;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event.sigev_value.sival_ptr = this;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  // Without a timer (the system has no more of them) the work is unlimited.
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return;
  armed_ = true;
  const itimerspec when{.it_interval = time_of(scale_of_grace * grace),
                        .it_value = time_of(scale_of_seconds * seconds)};
  timer_settime(timer_, 0, &when, nullptr);
}

CpuLimit::~CpuLimit() {
  if (armed_) timer_delete(timer_);
  innermost = outer_;
}

void CpuLimit::scale(double share, double share_of_grace) {
  scale_of_seconds = share;
  scale_of_grace = share_of_grace;
}

void CpuLimit::check() {
  const CpuLimit* limit = innermost;
  if (limit == nullptr || limit->used_up_ == 0) return;
  constexpr size_t kBefore = 7, kBehind = 1;  // "error: " and the line's end
  throw UserError(limit->line_.substr(kBefore, limit->line_.size() - kBefore - kBehind));
}

}  // namespace longhaul
