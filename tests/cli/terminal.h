#pragma once
// Runs the real program on a pseudo terminal: types keys and reads the user's screen.

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/exec_program.h"

namespace longhaul::testing_support {

class Terminal {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// `variables` are set in the program's environment.
  explicit Terminal(const std::vector<std::string>& arguments, const Variables& variables = {}) {
    screen_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (screen_ < 0 || grantpt(screen_) != 0 || unlockpt(screen_) != 0) {
      throw std::runtime_error("no pseudo terminal to be had");
    }
    const std::string name = ptsname(screen_);
    const winsize size{.ws_row = 25, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(screen_, TIOCSWINSZ, &size);
    child_ = fork();
    if (child_ == 0) become_program(name, arguments, variables);
  }
  ~Terminal() {
    if (child_ > 0) kill(child_, SIGKILL);
    wait();
    close(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Reads output until `text` appears after everything that earlier calls waited for. Returns
  /// false if the program ends first or shows nothing new for a minute.
  bool wait_for(const std::string& text) {
    for (;;) {
      const size_t at = seen_.find(text, waited_);
      if (at != std::string::npos) {
        waited_ = at + text.size();
        return true;
      }
      if (!read_more()) return false;
    }
  }

  /// Like wait_for(), then waits until the line editor reads single keys. The editor shows its
  /// prompt before that, and earlier input would be edited by the kernel byte by byte.
  bool wait_for_prompt(const std::string& prompt) {
    if (!wait_for(prompt)) return false;
    for (int i = 0; i < 10'000; ++i) {
      termios mode{};
      if (tcgetattr(screen_, &mode) != 0) return false;
      if ((mode.c_lflag & ICANON) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  void type(const std::string& keys) {
    for (size_t sent = 0; sent < keys.size();) {
      const ssize_t n = write(screen_, keys.data() + sent, keys.size() - sent);
      if (n < 0 && errno != EINTR) throw std::runtime_error("the terminal takes no keys");
      if (n > 0) sent += static_cast<size_t>(n);
    }
  }

  /// Returns the exit status (128 + signal if killed) when the program ends by itself, or -1 if it
  /// does not.
  int finish() {
    while (read_more()) {
    }
    if (!ended_) return -1;
    wait();
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  /// All output, with its escape sequences.
  const std::string& seen() const { return seen_; }

 private:
  [[noreturn]] static void become_program(const std::string& name,
                                          const std::vector<std::string>& arguments,
                                          const Variables& variables) {
    setsid();
    const int terminal = open(name.c_str(), O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(terminal, fd);
    setenv("TERM", "xterm", 1);
    exec_program(arguments, variables);
  }

  bool read_more() {
    if (ended_) return false;
    pollfd ready{.fd = screen_, .events = POLLIN, .revents = 0};
    const int count = poll(&ready, 1, 60'000);
    if (count == 0) return false;
    char buffer[4096];
    const ssize_t n = count > 0 ? read(screen_, buffer, sizeof buffer) : -1;
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) {  // EIO: the other side is closed
      ended_ = true;
      return false;
    }
    seen_.append(buffer, static_cast<size_t>(n));
    return true;
  }

  void wait() {
    if (child_ <= 0) return;
    while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
  }

  int screen_ = -1;
  pid_t child_ = 0;
  int status_ = 0;
  bool ended_ = false;
  std::string seen_;
  size_t waited_ = 0;
};

}  // namespace longhaul::testing_support
