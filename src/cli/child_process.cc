#include "cli/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

extern char** environ;

namespace longhaul {
namespace {

constexpr size_t kKeptBytes = 64 * 1024;

/// Everything until the pipe closes; only the end is kept.
std::string drain(int pipe) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kKeptBytes) text.erase(0, text.size() - kKeptBytes);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) user_error("{}: no pipe to be had", arguments.front());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);

  ChildResult result;
  result.started = error == 0;
  if (result.started) {
    result.errors = drain(ends[0]);
    result.status = wait_for(child);
  }
  close(ends[0]);
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
