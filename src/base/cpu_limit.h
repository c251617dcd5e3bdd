#pragma once
// A bound on the processor time of work whose length is determined by a file, such as matching the
// patterns of a tokenizer. It measures time of the calling thread, not wall-clock time, so a busy
// machine causes no failures.

#include <csignal>
#include <cstddef>
#include <ctime>
#include <string>

namespace longhaul {

/// A limit for the calling thread, from construction to destruction. Work calls check() wherever it
/// can stop. Work that never calls check() (such as one long call of a library) cannot be stopped,
/// so some seconds after the limit the program ends with the same line and exit status 2. If limits
/// of a thread are nested, the inner limit applies.
class CpuLimit {
 public:
  /// `line` is the message, one line with the file and the limit. `grace` is the time in seconds
  /// from the limit to the end of the program.
  CpuLimit(double seconds, const std::string& line, double grace = 10);
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

  /// Throws UserError with the line if the innermost limit of this thread is used up. It is cheap.
  static void check();

  /// Multiplies later limits of this thread by `share`, and their grace by `share_of_grace`. Tests
  /// use it to reach limits of minutes.
  static void scale(double share, double share_of_grace = 1);

 private:
  static void on_signal(int, siginfo_t* info, void*);

  volatile std::sig_atomic_t used_up_ = 0;
  bool armed_ = false;
  timer_t timer_{};
  CpuLimit* outer_ = nullptr;
  std::string line_;  ///< "error: ...\n", ready for write()
};

}  // namespace longhaul
