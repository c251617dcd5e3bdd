// The sandbox of commands that read a model (base/sandbox.h), seen from outside.

#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>

#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::long_text;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

/// The value of a line in /proc/PID/status, or "" if there is none.
std::string status_of(const std::string& pid, const std::string& key) {
  std::ifstream in("/proc/" + pid + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  }
  return "";
}

/// Whether a child of this process has Seccomp "2": a system call filter is active.
bool a_child_has_a_filter() {
  DIR* processes = opendir("/proc");
  bool found = false;
  while (const dirent* entry = processes != nullptr ? readdir(processes) : nullptr) {
    const std::string pid = entry->d_name;
    found = found || (status_of(pid, "PPid") == std::to_string(getpid()) &&
                      status_of(pid, "Seccomp") == "2");
  }
  if (processes != nullptr) closedir(processes);
  return found;
}

bool seen_while_it_answers(Program::Arguments more) {
  Program program;
  more.insert(more.begin(), {"run", "-p", "Tell me of the sea.", "-n", "100000", "-q"});
  const auto begun = std::chrono::steady_clock::now();
  bool seen = false;
  program.run_and_interrupt(more, [&] {
    seen = seen || a_child_has_a_filter();
    const bool answers = program.output_so_far().size() > 20;
    return answers || std::chrono::steady_clock::now() - begun > std::chrono::seconds(120);
  });
  return seen || a_child_has_a_filter();
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(SandboxFlag, TheWallsAreUpByThemselves) {
  if (status_of("self", "Seccomp") == "2") {
    EXPECT_TRUE(seen_while_it_answers({}));  // this process and its children have it, too
    return;
  }
  EXPECT_TRUE(seen_while_it_answers({}));
  EXPECT_FALSE(seen_while_it_answers({"--no-sandbox"}));
}
#endif

/// From now on, requests for a sandbox in this process get this result.
void answer_walls_with(uint32_t answer) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, answer),
  };
  const sock_fprog filter = {std::size(program), program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) _exit(126);
}

/// One call of every command that reads a model.
std::vector<Program::Arguments> walled_commands(const std::string& text) {
  return {{"run", "-p", "What is the sea?", "-n", "2"},
          {"perplexity", "-f", text, "-c", "256"},
          {"advise", text},
          {"tokenize", "-f", text, "--count"},
          {"inspect", "nano", "--brief"},
          {"merge", "-m", LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf", "--lora",
           LONGHAUL_TEST_DATA "/adapters/gguf/qwen2.gguf", text + ".gguf"}};
}

Program::Arguments with(Program::Arguments arguments, const std::string& flag) {
  arguments.push_back(flag);
  return arguments;
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(SandboxFlag, EveryCommandThatReadsAModelPutsThemUp) {
  Program program;
  const std::string text = program.folder().write("text.txt", long_text());
  program.before_exec([] { answer_walls_with(SECCOMP_RET_KILL_PROCESS); });
  for (const Program::Arguments& arguments : walled_commands(text)) {
    EXPECT_EQ(program.run(arguments).status, 128 + SIGSYS) << arguments[0];
    const Outcome without = program.run(with(arguments, "--no-sandbox"));
    EXPECT_EQ(without.status, 0) << arguments[0] << ": " << without.err;
  }
}
#endif

TEST(SandboxFlag, RefusesToGoOnWhereTheSystemHasNone) {
  Program program;
  const std::string text = program.folder().write("text.txt", long_text());
  program.before_exec([] { answer_walls_with(SECCOMP_RET_ERRNO | ENOSYS); });
  for (const Program::Arguments& arguments : walled_commands(text)) {
    EXPECT_TRUE(refused(program.run(with(arguments, "--sandbox")),
                        {"--sandbox: this system has neither Landlock nor seccomp"}))
        << arguments[0];
    EXPECT_EQ(program.run(arguments).status, 0) << arguments[0] << ": without a word";
  }
}

TEST(SandboxFlag, AMethodThatWritesHasWallsOnlyIfAsked) {
  Program program;
  const std::string text = program.folder().write("text.txt", long_text());
  const std::string patterns = program.folder().path() / "patterns.tsv";
  const Program::Arguments arguments = {
      "perplexity",
      "-f",
      text,
      "-c",
      "256",
      "--attention",
      "minference:patterns=search,search_at=100,dense_below=0,save=" + patterns};
  program.before_exec([] { answer_walls_with(SECCOMP_RET_KILL_PROCESS); });
  const Outcome without = program.run(arguments);
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_EQ(program.run(with(arguments, "--sandbox")).status, 128 + SIGSYS);
}

TEST(SandboxFlag, TellsWhatStandsWhereItIsAskedFor) {
  Program program;
  const Outcome o = program.run({"run", "-p", "What is the sea?", "-n", "2", "--sandbox"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"sandbox", "seccomp, set up in"}));
  EXPECT_EQ(program.run({"run", "-p", "x", "--sandbox", "--no-sandbox"}).status, 2);
}

TEST(SandboxFlag, NothingThatACommandDoesIsInTheWay) {
  Program program;
  const std::string text = program.folder().write("text.txt", long_text());
  const std::string saved = program.folder().path() / "saved";
  const std::string patterns = program.folder().path() / "patterns.tsv";
  for (const Program::Arguments& arguments : std::vector<Program::Arguments>{
           {"run", "-f", text, "-p", "What is under water?", "-n", "2", "--save", saved},
           {"run", "--load", saved, "-p", "What is under water?", "-n", "2"},
           {"run", "-f", text, "-p", "x", "-n", "2", "--attention",
            "infllm:n_init=16,n_local=128,block=64,topk=2,cached=4,chunk=64"},
           {"run", "-f", text, "-p", "x", "-n", "2", "--attention",
            "minference:patterns=search,search_at=500,dense_below=0,save=" + patterns},
           {"perplexity", "-f", text, "-c", "256"},
           {"advise", text},
           {"tokenize", "-f", text, "--count"},
           {"inspect", "nano", "--brief"}}) {
    const Outcome o = program.run(arguments);
    EXPECT_EQ(o.status, 0) << arguments[0] << ": " << o.err;
  }
  EXPECT_TRUE(std::filesystem::exists(saved));
  EXPECT_TRUE(std::filesystem::exists(patterns));
}

}  // namespace
}  // namespace longhaul
