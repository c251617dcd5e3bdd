#include "documents/filter_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

extern char** environ;

namespace longhaul {
namespace {

constexpr size_t kKeptErrors = 64 * 1024;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor out, in;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) user_error("no pipe to be had: {}", std::strerror(errno));
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
};

/// Puts the input into an anonymous file, positioned at its beginning. A program that seeks in its
/// input (PDFs are read from their end) can do so, and no thread has to feed it while it writes.
void hold(std::string_view input, Descriptor& file) {
  file.reset(memfd_create("document", MFD_CLOEXEC));
  while (file.get() >= 0 && !input.empty()) {
    const ssize_t n = write(file.get(), input.data(), input.size());
    if (n < 0 && errno != EINTR) break;
    if (n > 0) input.remove_prefix(static_cast<size_t>(n));
  }
  if (file.get() < 0 || !input.empty() || lseek(file.get(), 0, SEEK_SET) != 0) {
    user_error("no memory for a document: {}", std::strerror(errno));
  }
}

/// Returns 0 if it was started, otherwise errno.
int start(const std::vector<std::string>& arguments, int input, int output, int errors,
          pid_t& child) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Reads available data. Returns false at the end.
bool read_some(int from, std::string& into) {
  char buffer[65536];
  const ssize_t n = read(from, buffer, sizeof buffer);
  if (n > 0) into.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

/// Reads until both pipes close or a limit is exceeded.
Filtered::End drain(int output, int errors, const FilterLimits& limits, Filtered& result) {
  const Stopwatch watch;
  pollfd pipes[] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    const double left = limits.seconds - watch.seconds();
    if (left <= 0) return Filtered::End::kTooSlow;
    if (poll(pipes, 2, static_cast<int>(std::min(left, 1000.0) * 1000) + 1) <= 0) continue;
    if (pipes[0].revents != 0 && !read_some(output, result.output)) pipes[0].fd = -1;
    if (pipes[1].revents != 0 && !read_some(errors, result.errors)) pipes[1].fd = -1;
    if (result.errors.size() > kKeptErrors) {
      result.errors.erase(0, result.errors.size() - kKeptErrors);
    }
    if (result.output.size() > limits.bytes) return Filtered::End::kTooMuch;
  }
  return Filtered::End::kExited;
}

}  // namespace

Filtered filter_through(const std::vector<std::string>& arguments, std::string_view input,
                        const FilterLimits& limits) {
  Descriptor document;
  hold(input, document);
  Pipe output, errors;
  Filtered result;
  pid_t child = 0;
  if (start(arguments, document.get(), output.in.get(), errors.in.get(), child) != 0) return result;
  output.in.reset();
  errors.in.reset();
  result.end = drain(output.out.get(), errors.out.get(), limits, result);
  if (result.end != Filtered::End::kExited) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of('\n', end);
  const size_t from = begin == std::string::npos ? 0 : begin + 1;
  return text.substr(from, end + 1 - from);
}

}  // namespace longhaul
