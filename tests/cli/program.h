#pragma once
// Runs the real program and returns its output.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/exec_program.h"
#include "format/temp_folder.h"

namespace longhaul::testing_support {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal when killed
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

class Program {
 public:
  using Arguments = std::vector<std::string>;

  /// Runs to the end with `input` on standard input.
  Outcome run(const Arguments& arguments, const std::string& input = "") {
    return finish(start(arguments, input));
  }

  /// Sends the signal when `ready()` returns true (polled every few milliseconds), then waits.
  template <class Ready>
  Outcome run_and_interrupt(const Arguments& arguments, Ready&& ready, int signal = SIGINT) {
    const pid_t child = start(arguments, "");
    // A program that has ended will never be ready: its outcome then fails the test.
    while (!ready() && is_running(child)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    kill(child, signal);
    return finish(child);
  }

  /// File that receives standard output instead of Outcome::out. "" closes standard output.
  void set_output(const std::string& file) { output_ = file; }

  /// Limits the size of files, like `ulimit -f`.
  void limit_files(rlim_t bytes) { file_limit_ = bytes; }

  /// Sets a variable in the child only.
  void set_environment(const std::string& name, const std::string& value) {
    environment_.emplace_back(name, value);
  }

  /// Sets an action that runs in the child last, before it becomes the program.
  void before_exec(std::function<void()> action) { before_exec_ = std::move(action); }

  const TempFolder& folder() const { return folder_; }
  std::string output_so_far() const { return read(folder_.path() / "out"); }
  std::string errors_so_far() const { return read(folder_.path() / "err"); }

 private:
  static bool is_running(pid_t child) {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
  }

  static std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  pid_t start(const Arguments& arguments, const std::string& input) {
    const auto in = folder_.write("in", input), out = folder_.write("out", ""),
               err = folder_.write("err", "");
    const pid_t child = fork();
    if (child != 0) return child;
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(output_.value_or(out).c_str(), O_WRONLY | O_TRUNC), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_TRUNC), STDERR_FILENO);
    if (output_ == "") close(STDOUT_FILENO);
    const rlimit limit = {file_limit_, RLIM_INFINITY};
    if (file_limit_ != RLIM_INFINITY) setrlimit(RLIMIT_FSIZE, &limit);
    if (before_exec_) before_exec_();
    exec_program(arguments, environment_);
  }

  Outcome finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            read(folder_.path() / "out"), read(folder_.path() / "err")};
  }

  TempFolder folder_;
  std::optional<std::string> output_;
  rlim_t file_limit_ = RLIM_INFINITY;
  std::function<void()> before_exec_;
  std::vector<std::pair<std::string, std::string>> environment_;
};

/// Exit status 2, nothing on standard output, and one line `error: ...` that contains `parts`.
inline ::testing::AssertionResult refused(const Outcome& outcome,
                                          std::initializer_list<std::string_view> parts) {
  const bool one_line = outcome.err.find('\n') + 1 == outcome.err.size();
  if (outcome.status != 2 || !outcome.out.empty() || !one_line ||
      !outcome.err.starts_with("error: ")) {
    return ::testing::AssertionFailure()
           << "status " << outcome.status << ", out: " << outcome.out << ", err: " << outcome.err;
  }
  return has(outcome.err, parts);
}

/// Returns {812, 8040} for "812 of 8,040 prefilled, cancelled after", or {-1, -1} for other
/// reports.
inline std::pair<int64_t, int64_t> read_before_cancelled(const std::string& report) {
  const size_t end = report.find(" prefilled, cancelled after");
  const size_t of = report.rfind(" of ", end);
  if (end == std::string::npos || of == std::string::npos) return {-1, -1};
  const auto number = [](std::string text) {
    std::erase(text, ',');
    return std::stoll(text);
  };
  const size_t begin = report.find_last_not_of("0123456789,", of - 1) + 1;  // 0 for npos
  return {number(report.substr(begin, of - begin)), number(report.substr(of + 4, end - of - 4))};
}

inline constexpr const char* kPassKeyQuestion =
    "The pass key is 58213. Remember it. 58213 is the pass key. What is the pass key?";

}  // namespace longhaul::testing_support
