#pragma once
// A bound on the processor time of a stretch of work whose length a file decides, such as matching
// the patterns of a tokenizer. Time of the calling thread counts, not the clock on the wall: a busy
// machine makes nothing fail.

#include <csignal>
#include <cstddef>
#include <ctime>
#include <string>

namespace longhaul {

/// Holds for the calling thread from construction to destruction. Work looks with check() where it
/// can stop; what never looks (a library in one long call) ends the program some seconds later,
/// with the same line and exit status 2, since nothing else can be done about it. Of two at a time
/// on one thread the inner one counts.
class CpuLimit {
 public:
  /// `line` is the message: one line that names the file and the limit. `grace`: seconds between
  /// the moment from which check() throws and the program's end.
  CpuLimit(double seconds, const std::string& line, double grace = 10);
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

  /// UserError with the line once the innermost limit of this thread is used up. Cheap.
  static void check();

  /// Limits of this thread that begin from now on are `share` of what they ask for, and so is their
  /// grace: how tests reach those of minutes.
  static void scale(double share, double share_of_grace = 1);

 private:
  static void on_signal(int, siginfo_t* info, void*);

  volatile std::sig_atomic_t used_up_ = 0;
  bool armed_ = false;
  timer_t timer_{};
  CpuLimit* outer_ = nullptr;
  std::string line_;  ///< "error: ...\n": ready for write()
};

}  // namespace longhaul
