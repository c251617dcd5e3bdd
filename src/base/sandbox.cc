#include "base/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/sandbox_calls.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

// Flags from newer kernels than the headers of this build.
constexpr uint64_t kRefer = uint64_t{1} << 13;     // version 2
constexpr uint64_t kTruncate = uint64_t{1} << 14;  // version 3
constexpr uint32_t kSetVma = 0x53564d41;           // PR_SET_VMA: names of memory
#if defined(__x86_64__)
constexpr uint32_t kGetXcompPerm = 0x1022, kRequestXcompPerm = 0x1023;  // tiles of AMX
#endif

constexpr uint64_t kWriting = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                              LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                              LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                              LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                              LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
// Folders are included, because `merge` creates one and removes it on failure.
constexpr uint64_t kWritingOfOurs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                    LANDLOCK_ACCESS_FS_REMOVE_DIR | kTruncate;

constexpr uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

/// Returns false for a folder that does not exist: any access there would fail anyway.
bool allow_access(int rules, const fs::path& folder, uint64_t access) {
  const int opened = open(folder.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0) return false;
  struct stat status = {};
  const bool is_folder = fstat(opened, &status) == 0 && S_ISDIR(status.st_mode);
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = is_folder ? access : access & ~uint64_t{LANDLOCK_ACCESS_FS_READ_DIR};
  rule.parent_fd = opened;
  const bool added =
      syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  close(opened);
  return added;
}

/// Folders whose programs may run, with their libraries.
std::vector<fs::path> program_folders_of_path() {
  std::vector<fs::path> folders = {"/usr", "/bin", "/sbin", "/lib", "/lib64"};
  const char* set = std::getenv("PATH");
  std::string_view path = set != nullptr ? set : "";
  while (!path.empty()) {
    const size_t end = std::min(path.find(':'), path.size());
    if (path.starts_with('/')) folders.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(path.size(), end + 1));
  }
  return folders;
}

/// Programs of PATH run and read their own files, and write none.
void allow_programs(int rules, uint64_t handled) {
  for (const fs::path& folder : program_folders_of_path()) {
    if (folder == "/") continue;
    allow_access(rules, folder, (kReading | LANDLOCK_ACCESS_FS_EXECUTE) & handled);
  }
  for (const char* file :
       {"/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime", "/dev/urandom",
        "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"}) {
    allow_access(rules, file, kReading & handled);
  }
  allow_access(
      rules, "/dev/null",
      (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate) & handled);
}

bool restrict_files(const std::vector<fs::path>& written, const SandboxRights& rights) {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr attr = {};
  attr.handled_access_fs = kWriting | LANDLOCK_ACCESS_FS_EXECUTE;
  if (version >= 2) attr.handled_access_fs |= kRefer;
  if (version >= 3) attr.handled_access_fs |= kTruncate;
  if (rights.programs) attr.handled_access_fs |= kReading;
  const auto rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0));
  if (rules < 0) return false;
  const uint64_t writing = kWritingOfOurs & attr.handled_access_fs;
  for (const fs::path& folder : written) {
    allow_access(rules, folder.empty() ? "." : folder, writing);
  }
  std::error_code none;
  if (rights.programs) {
    allow_programs(rules, attr.handled_access_fs);
  } else if (const fs::path temporary = fs::temp_directory_path(none); !none) {
    allow_access(rules, temporary, writing);
  }
  const bool restricted = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return restricted;
}

/// Builds a seccomp program that allows a list of system calls.
class Filter {
 public:
  /// Holds if 32 bits of an argument, masked, equal `value`.
  struct Check {
    int argument;
    uint32_t value;
    uint32_t mask = ~uint32_t{0};
    bool upper = false;  ///< the upper 32 bits instead
  };
  using Checks = std::vector<Check>;  // all of which hold

  Filter() {
    load(offsetof(seccomp_data, arch));
    skip_unless_equal(kArchitecture, 1, 0);
    end(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));  // x86-64: the x32 table of calls
    end(kRefused);
  }

  void allow(std::span<const uint32_t> calls) {
    for (const uint32_t call : calls) answer(call, SECCOMP_RET_ALLOW);
  }

  /// Allows a call where the checks of one of `alternatives` hold.
  void allow_if(uint32_t call, const std::vector<Checks>& alternatives) {
    std::vector<sock_filter> outer = std::exchange(program_, {});
    for (const Checks& checks : alternatives) {
      // A check is three instructions; the alternative ends with one.
      size_t left = 3 * checks.size() + 1;
      for (const Check& check : checks) {
        load(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(check.argument) +
             (check.upper ? 4 : 0));
        add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, check.mask));
        left -= 3;
        skip_unless_equal(check.value, 0, static_cast<uint8_t>(left));
      }
      end(SECCOMP_RET_ALLOW);
    }
    end(kRefused);
    std::swap(outer, program_);
    LH_ASSERT(outer.size() < 256);
    skip_unless_equal(call, 0, static_cast<uint8_t>(outer.size()));
    program_.insert(program_.end(), outer.begin(), outer.end());
  }

  bool install() {
    for (const uint32_t call : kReplaced) answer(call, SECCOMP_RET_ERRNO | ENOSYS);
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstUnknown, 0, 1));
    end(SECCOMP_RET_ERRNO | ENOSYS);
    end(kRefused);
    const sock_fprog filter = {static_cast<unsigned short>(program_.size()), program_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
  }

 private:
  static constexpr uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;

  void add(sock_filter instruction) { program_.push_back(instruction); }
  void load(size_t offset) {
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  }
  void skip_unless_equal(uint32_t value, uint8_t equal, uint8_t other) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, equal, other));
  }
  void end(uint32_t result) { add(BPF_STMT(BPF_RET | BPF_K, result)); }
  void answer(uint32_t call, uint32_t result) {
    skip_unless_equal(call, 0, 1);
    end(result);
  }

  std::vector<sock_filter> program_;
};

/// One alternative for each value of an argument.
std::vector<Filter::Checks> one_of(int argument, std::initializer_list<uint32_t> values) {
  std::vector<Filter::Checks> alternatives;
  for (const uint32_t value : values) alternatives.push_back({{argument, value}});
  return alternatives;
}

void allow_threads(Filter& filter) {
#if defined(__SANITIZE_ADDRESS__)
  filter.allow_if(SYS_clone, {{}});  // the leak checker runs in a process of its own
#else
  constexpr uint32_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  constexpr uint32_t kOfThreads = CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                  CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | CLONE_DETACHED;
  filter.allow_if(SYS_clone, {{{0, kThread, ~kOfThreads}}});
#endif
}

/// A program is started by a process that shares nothing. New namespaces are refused.
void allow_processes(Filter& filter) {
  constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE;
  filter.allow(kAllowedToPrograms);
  filter.allow_if(SYS_clone, {{{0, 0, kNamespaces}}});
  filter.allow_if(SYS_prctl, one_of(0, {PR_SET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME,
                                        PR_SET_NO_NEW_PRIVS, PR_GET_DUMPABLE, kSetVma}));
#if defined(__x86_64__)
  constexpr uint32_t kSetFs = 0x1002, kCetStatus = 0x3001;  // the thread pointer; shadow stacks
  filter.allow_if(SYS_arch_prctl,
                  one_of(0, {kSetFs, kCetStatus, kGetXcompPerm, kRequestXcompPerm}));
#endif
  filter.allow_if(SYS_prlimit64, one_of(0, {0}));
}

/// Signals to this process and, as number 0, those of the keyboard to its group: the line editor
/// hands Ctrl-C on so. Limits and places of this process only.
void allow_on_itself(Filter& filter) {
  const auto self = static_cast<uint32_t>(getpid());
  filter.allow_if(
      SYS_kill,
      {{{0, self}}, {{0, 0}, {1, SIGINT}}, {{0, 0}, {1, SIGQUIT}}, {{0, 0}, {1, SIGTSTP}}});
  filter.allow_if(SYS_tgkill, {{{0, self}}});
  filter.allow_if(SYS_prlimit64, one_of(0, {0, self}));
  filter.allow_if(SYS_sched_setaffinity, one_of(0, {0, self}));
  filter.allow_if(SYS_prctl, one_of(0, {PR_SET_NAME, PR_GET_NAME, PR_SET_NO_NEW_PRIVS,
                                        PR_GET_DUMPABLE, PR_GET_SECCOMP, kSetVma}));
#if defined(__x86_64__)
  filter.allow_if(SYS_arch_prctl, one_of(0, {kGetXcompPerm, kRequestXcompPerm}));
#endif
}

void allow_files(Filter& filter) {
  // O_TRUNC without the right to write empties a file where Landlock's version is below 3.
  const auto without_emptying = [](int flags) {
    return std::vector<Filter::Checks>{
        {{flags, 0, O_TRUNC}}, {{flags, O_WRONLY, O_ACCMODE}}, {{flags, O_RDWR, O_ACCMODE}}};
  };
  filter.allow_if(SYS_openat, without_emptying(2));
#if defined(__x86_64__)
  filter.allow_if(SYS_open, without_emptying(1));
#endif
  // Not F_SETOWN, F_SETSIG and O_ASYNC, by which the kernel signals others.
  std::vector<Filter::Checks> commands =
      one_of(1, {F_GETFL, F_GETFD, F_SETFD, F_DUPFD, F_DUPFD_CLOEXEC, F_GETLK, F_SETLK, F_SETLKW,
                 F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW});
  commands.push_back({{1, F_SETFL}, {2, 0, O_ASYNC}});
  filter.allow_if(SYS_fcntl, commands);
}

/// Modes and size of a terminal, and what waits in a pipe. Not TIOCSTI and TIOCLINUX, which type
/// into a terminal, nor those that change files.
void allow_devices(Filter& filter, bool gpus) {
  std::vector<Filter::Checks> calls = one_of(
      1, {TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX});
  if (gpus) {
    constexpr uint32_t kType = 0xff00;
    calls.push_back({{1, 'F' << 8, kType}});              // NVIDIA's control devices
    calls.push_back({{1, 0, ~uint32_t{0xff}}});           // its unified memory: small numbers
    calls.push_back({{1, 0x30000000, ~uint32_t{0xff}}});  // and two of these
  }
  filter.allow_if(SYS_ioctl, calls);
}

/// Sending is allowed to the other end of a connection only. MSG_FASTOPEN would make a new one.
void allow_connections(Filter& filter) {
  filter.allow(kAllowedToServers);
  filter.allow_if(SYS_sendto, {{{3, 0, MSG_FASTOPEN}, {4, 0}, {4, 0, ~uint32_t{0}, true}}});
  filter.allow_if(SYS_sendmsg, {{{2, 0, MSG_FASTOPEN}}});
  std::vector<Filter::Checks> options;
  for (const uint32_t option :
       {SO_KEEPALIVE, SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO, SO_RCVBUF, SO_SNDBUF}) {
    options.push_back({{1, SOL_SOCKET}, {2, option}});
  }
  for (const uint32_t option : {TCP_NODELAY, TCP_CORK, TCP_QUICKACK, TCP_KEEPIDLE, TCP_KEEPINTVL,
                                TCP_KEEPCNT, TCP_USER_TIMEOUT}) {
    options.push_back({{1, IPPROTO_TCP}, {2, option}});
  }
  filter.allow_if(SYS_setsockopt, options);
}

/// A call that is not allowed fails with EPERM; one of another kind of machine ends the program.
bool restrict_calls(const SandboxRights& rights) {
  Filter filter;
  filter.allow(kAllowed);
#if defined(__x86_64__)
  filter.allow(kAllowedOlder);
#endif
  if (rights.programs) {
    allow_processes(filter);
  } else {
    allow_threads(filter);
  }
  allow_on_itself(filter);
  allow_files(filter);
  allow_devices(filter, rights.gpus);
  if (rights.connections || rights.gpus) allow_connections(filter);
  return filter.install();
}

}  // namespace

std::string Sandbox::description() const {
  return fmt::format("{}{}{}, set up in {:.1f} ms", files ? "landlock" : "",
                     files && calls ? " and " : "", calls ? "seccomp" : "", seconds * 1000);
}

Sandbox enter_sandbox(const std::vector<fs::path>& written, const SandboxRights& rights) {
  const Stopwatch watch;
  Sandbox sandbox;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    sandbox.files = restrict_files(written, rights);
    sandbox.calls = restrict_calls(rights);
  }
  sandbox.seconds = watch.seconds();
  return sandbox;
}

}  // namespace longhaul
