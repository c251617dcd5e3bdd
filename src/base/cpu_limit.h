#pragma once
// Limits the processor time of work whose length depends on the contents of a file. An example is
// matching the patterns of a tokenizer. The limit applies to the processor time of the calling
// thread, not to wall-clock time. A busy machine therefore causes no failures.

#include <csignal>
#include <cstddef>
#include <ctime>
#include <string>

namespace longhaul {

/// Limits the calling thread from construction to destruction of the object. The work calls check()
/// wherever it can stop. Work that never calls check(), such as one long call of a library, cannot
/// be stopped. If such work exceeds the limit by `grace` seconds, the program prints the message
/// and exits with status 2. If limits of a thread are nested, the inner limit applies.
class CpuLimit {
 public:
  /// `line` is the message: one line that names the file and the limit. `grace` is the number of
  /// seconds after the limit at which the program ends if check() was not called.
  CpuLimit(double seconds, const std::string& line, double grace = 10);
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

  /// Throws UserError with the message if the innermost limit of this thread is exceeded. The call
  /// is cheap.
  static void check();

  /// Multiplies all later limits of this thread by `share`, and their grace by `share_of_grace`.
  /// Tests use it to shorten limits that are minutes long.
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
