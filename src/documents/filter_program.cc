#include "documents/filter_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "documents/descriptor.h"

extern char** environ;

namespace longhaul {
namespace {

constexpr size_t kKeptErrors = 64 * 1024;

struct Pipe {
  Descriptor out, in;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) user_error("no pipe to be had: {}", std::strerror(errno));
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
};

/// Creates an unnamed file, positioned at its beginning. Programs can seek in it (PDFs are read
/// from their end), and no thread has to feed the program while it writes.
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

/// The file that a shell would run for `name`; empty if it is not in PATH.
std::string program_file(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view folders = path != nullptr ? path : "/usr/bin:/bin";
  while (true) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string folder(folders.substr(0, end));
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code ignored;
    if (access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file, ignored))
      return file;
    if (end == folders.size()) return "";
    folders.remove_prefix(end + 1);
  }
}

void limit_resource(int resource, size_t most) {
  const rlimit limit = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

/// The part of `memory` that is left for data, since the pages of the program's own file also
/// count.
size_t memory_for_data(const std::string& file, size_t memory) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  return memory - (error ? 0 : std::min<size_t>(static_cast<size_t>(size), memory / 3));
}

/// Runs in the child and calls no function that allocates.
[[noreturn]] void become(const char* file, char* const* arguments, const int (&ends)[3],
                         const FilterLimits& limits, size_t data, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent has ended already
  for (int i = 0; i < 3; ++i) {
    if (dup2(ends[i], i) < 0) _exit(127);
  }
  limit_resource(RLIMIT_DATA, data);
  limit_resource(RLIMIT_CPU, static_cast<size_t>(std::min(limits.seconds, 1e6)) + 1);
  limit_resource(RLIMIT_CORE, 0);
  execve(file, arguments, environ);
  _exit(127);
}

/// The child's process id; 0 if it cannot be started.
pid_t start(const std::vector<std::string>& arguments, const int (&ends)[3],
            const FilterLimits& limits) {
  const std::string file = program_file(arguments.front());
  if (file.empty()) return 0;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const size_t data = memory_for_data(file, limits.memory);
  const pid_t child = fork();
  if (child < 0) user_error("{} cannot be started: {}", arguments.front(), std::strerror(errno));
  if (child == 0) become(file.c_str(), argv.data(), ends, limits, data, parent);
  return child;
}

/// Reads the available bytes. Returns false at the end.
bool read_some(int from, std::string& into) {
  char buffer[65536];
  const ssize_t n = read(from, buffer, sizeof buffer);
  if (n > 0) into.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

/// Runs until both pipes close or a limit is exceeded.
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
  const pid_t child = start(arguments, {document.get(), output.in.get(), errors.in.get()}, limits);
  if (child == 0) return result;
  output.in.reset();
  errors.in.reset();
  result.end = drain(output.out.get(), errors.out.get(), limits, result);
  // A sandbox may forbid signals. The program ends with this process then.
  if (result.end != Filtered::End::kExited && kill(child, SIGKILL) != 0) return result;
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
