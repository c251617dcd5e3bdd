// Tries one system call after the other inside the sandbox (base/sandbox.h): a process enters it,
// makes every call and reports which ones were let through.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sandbox.h"
#include "format/temp_folder.h"

#if !defined(__x86_64__)  // calls that only x86-64 has; -1 is no call
#define SYS_creat -1
#define SYS_fork -1
#define SYS_ioperm -1
#define SYS_iopl -1
#define SYS_modify_ldt -1
#define SYS_utime -1
#define SYS_utimes -1
#endif

namespace longhaul {
namespace {

using testing_support::TempFolder;

template <typename... Arguments>
long call(long number, Arguments... arguments) {
  return syscall(number, arguments...);
}

struct Probe {
  std::string name;
  std::function<long()> call;
  bool by_landlock = false;  ///< refused only where the kernel has Landlock
};

/// Returns the names of the probes that were let through, which did not fail or failed for another
/// reason. The test fails if the process ended early.
std::set<std::string> let_through(const std::function<std::vector<Probe>()>& prepare,
                                  const std::string& written, const SandboxRights& rights) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {"pipe2"};
  const pid_t child = fork();
  if (child == 0) {
    ::close(ends[0]);
    setenv("TMPDIR", written.c_str(), 1);
    setpgid(0, 0);  // signals to its group reach only itself
    const std::vector<Probe> probes = prepare();
    const Sandbox sandbox = enter_sandbox({written}, rights);
    if (!sandbox.calls) _exit(1);
    for (const Probe& probe : probes) {
      errno = 0;
      const long result = probe.call();
      const bool refused = result < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
      if (refused || (probe.by_landlock && !sandbox.files)) continue;
      const std::string line = probe.name + "\n";
      if (::write(ends[1], line.data(), line.size()) < 0) _exit(2);
    }
    _exit(0);
  }
  ::close(ends[1]);
  std::string report;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    report.append(buffer, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << ": " << report;
  std::set<std::string> names;
  for (size_t at = 0, end = 0; (end = report.find('\n', at)) != std::string::npos; at = end + 1) {
    names.insert(report.substr(at, end - at));
  }
  return names;
}

/// Another process of the same user, which no call may reach.
class Victim {
 public:
  Victim() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ~Victim() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  pid_t pid() const { return pid_; }
  bool lives() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_;
};

int terminal() {
  const int control = posix_openpt(O_RDWR | O_NOCTTY);
  if (control < 0 || grantpt(control) != 0 || unlockpt(control) != 0) return -1;
  return open(ptsname(control), O_RDWR | O_NOCTTY);
}

void add_file_probes(std::vector<Probe>& probes, const std::string& folder) {
  static std::string there, fresh, directory;
  directory = folder;
  there = folder + "/there";
  fresh = folder + "/new";
  static int readable;
  readable = open(there.c_str(), O_RDONLY | O_CLOEXEC);
  const auto landlock = [&](const char* name, std::function<long()> tried) {
    probes.push_back({name, std::move(tried), true});
  };
  landlock("create a file", [] { return open(fresh.c_str(), O_WRONLY | O_CREAT, 0600); });
  landlock("open for writing", [] { return open(there.c_str(), O_WRONLY); });
  landlock("open for both", [] { return open(there.c_str(), O_RDWR); });
  landlock("mkdir", [] { return mkdir((directory + "/d").c_str(), 0700); });
  landlock("rename", [] { return rename(there.c_str(), fresh.c_str()); });
  landlock("O_TMPFILE", [] { return open(directory.c_str(), O_TMPFILE | O_RDWR, 0600); });
  landlock("write through /proc/self/fd",
           [] { return open(("/proc/self/fd/" + std::to_string(readable)).c_str(), O_WRONLY); });
  probes.insert(
      probes.end(),
      {{"O_TRUNC without writing", [] { return open(there.c_str(), O_RDONLY | O_TRUNC); }},
       {"O_TRUNC for ioctl only", [] { return open(there.c_str(), O_ACCMODE | O_TRUNC); }},
       {"openat2", [] { return call(SYS_openat2, AT_FDCWD, there.c_str(), nullptr, 0); }},
       {"creat", [] { return call(SYS_creat, fresh.c_str(), 0600); }},
       {"truncate", [] { return truncate(there.c_str(), 0); }},
       {"symlink", [] { return symlink("/etc", fresh.c_str()); }},
       {"link", [] { return link(there.c_str(), fresh.c_str()); }},
       {"linkat", [] { return linkat(AT_FDCWD, there.c_str(), AT_FDCWD, fresh.c_str(), 0); }},
       {"mkfifo", [] { return mknod(fresh.c_str(), S_IFIFO | 0600, 0); }},
       {"mknod", [] { return mknod(fresh.c_str(), S_IFCHR | 0600, makedev(1, 3)); }},
       {"chmod", [] { return chmod(there.c_str(), 0777); }},
       {"chmod of a folder", [] { return chmod(directory.c_str(), 0755); }},
       {"fchmod", [] { return fchmod(readable, 0666); }},
       {"fchmodat", [] { return fchmodat(AT_FDCWD, there.c_str(), 0666, 0); }},
       {"chown", [] { return chown(there.c_str(), getuid(), getgid()); }},
       {"lchown", [] { return lchown(there.c_str(), getuid(), getgid()); }},
       {"fchown", [] { return fchown(readable, getuid(), getgid()); }},
       {"fchownat", [] { return fchownat(AT_FDCWD, there.c_str(), getuid(), getgid(), 0); }},
       {"utimensat", [] { return utimensat(AT_FDCWD, there.c_str(), nullptr, 0); }},
       {"utime", [] { return call(SYS_utime, there.c_str(), nullptr); }},
       {"utimes", [] { return call(SYS_utimes, there.c_str(), nullptr); }},
       {"setxattr", [] { return call(SYS_setxattr, there.c_str(), "user.x", "1", 1, 0); }},
       {"fsetxattr", [] { return call(SYS_fsetxattr, readable, "user.x", "1", 1, 0); }},
       {"removexattr", [] { return call(SYS_removexattr, there.c_str(), "user.x"); }},
       {"chattr",
        [] {
          long none = 0;
          return ioctl(readable, _IOW('f', 2, long), &none);
        }},
       {"owner of a descriptor", [] { return fcntl(readable, F_SETOWN, getppid()); }},
       {"lease", [] { return fcntl(readable, F_SETLEASE, F_RDLCK); }},
       {"notices of a folder", [] { return fcntl(readable, F_NOTIFY, 1); }},
       {"inotify", [] { return call(SYS_inotify_init1, 0); }},
       {"memfd_create", [] { return call(SYS_memfd_create, "x", 0); }},
       {"name_to_handle_at", [] { return call(SYS_name_to_handle_at, AT_FDCWD, "/", 0, 0, 0); }}});
}

void add_process_probes(std::vector<Probe>& probes, pid_t victim) {
  static pid_t other;
  other = victim;
  static siginfo_t info;
  info = {};
  info.si_code = SI_QUEUE;
  info.si_signo = SIGURG;
  static rlimit limit;
  getrlimit(RLIMIT_CPU, &limit);
  static char bytes[8];
  static iovec own = {bytes, 8}, theirs = {bytes, 8};
  static char* none[] = {nullptr};
  static std::string proc;
  proc = "/proc/" + std::to_string(victim);
  static int folder;
  folder = open(proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  static int program;
  program = open("/bin/false", O_RDONLY | O_CLOEXEC);
  static uint64_t cloned[11] = {0, 0, 0, 0, SIGCHLD};  // flags, ..., the signal at its end
  // A child, where one comes to be, ends at once.
  const auto ended = [](long pid) {
    if (pid == 0) _exit(0);
    return pid;
  };
  probes.insert(
      probes.end(),
      {{"kill", [] { return kill(other, 0); }},
       {"kill its group", [] { return kill(0, SIGKILL); }},
       {"kill everybody", [] { return kill(-1, 0); }},
       {"tkill", [] { return call(SYS_tkill, other, 0); }},
       {"tgkill", [] { return call(SYS_tgkill, other, other, 0); }},
       {"rt_sigqueueinfo", [] { return call(SYS_rt_sigqueueinfo, other, SIGURG, &info); }},
       {"rt_tgsigqueueinfo",
        [] { return call(SYS_rt_tgsigqueueinfo, other, other, SIGURG, &info); }},
       {"pidfd_open", [] { return call(SYS_pidfd_open, other, 0); }},
       {"pidfd_send_signal",
        [] { return call(SYS_pidfd_send_signal, folder, SIGURG, nullptr, 0); }},
       {"pidfd_getfd", [] { return call(SYS_pidfd_getfd, folder, 0, 0); }},
       {"ptrace", [] { return call(SYS_ptrace, 0x4206, other, 0, 0); }},
       {"process_vm_readv", [] { return process_vm_readv(other, &own, 1, &theirs, 1, 0); }},
       {"process_vm_writev", [] { return process_vm_writev(other, &own, 1, &theirs, 1, 0); }},
       {"process_madvise", [] { return call(SYS_process_madvise, folder, &own, 1, 21, 0); }},
       {"kcmp", [] { return call(SYS_kcmp, other, getpid(), 1, 0, 0); }},
       {"move_pages", [] { return call(SYS_move_pages, other, 0, 0, 0, 0, 0); }},
       {"migrate_pages", [] { return call(SYS_migrate_pages, other, 0, 0, 0); }},
       {"memory of another", [] { return open((proc + "/mem").c_str(), O_RDWR); }, true},
       {"oom_score_adj of another",
        [] { return open((proc + "/oom_score_adj").c_str(), O_WRONLY); }, true},
       {"limits of another", [] { return prlimit(other, RLIMIT_CPU, nullptr, &limit); }},
       {"set limits of another", [] { return prlimit(other, RLIMIT_CPU, &limit, nullptr); }},
       {"setpriority", [] { return setpriority(PRIO_PROCESS, static_cast<id_t>(other), 5); }},
       {"ioprio_set", [] { return call(SYS_ioprio_set, 1, other, 0x4007); }},
       {"sched_setaffinity",
        [] {
          cpu_set_t cpus;
          CPU_ZERO(&cpus);
          CPU_SET(0, &cpus);
          return sched_setaffinity(other, sizeof cpus, &cpus);
        }},
       {"sched_setscheduler",
        [] {
          const sched_param none_at_all = {};
          return sched_setscheduler(other, SCHED_OTHER, &none_at_all);
        }},
       {"sched_setattr", [] { return call(SYS_sched_setattr, other, bytes, 0); }},
       {"setpgid", [] { return setpgid(0, 0); }},
       {"setsid", [] { return call(SYS_setsid); }},
       {"setuid", [] { return call(SYS_setuid, getuid()); }},
       {"setresuid", [] { return call(SYS_setresuid, getuid(), getuid(), getuid()); }},
       {"capset", [] { return call(SYS_capset, bytes, bytes); }},
       {"execve", [] { return call(SYS_execve, "/bin/false", none, none); }},
       {"execveat", [] { return call(SYS_execveat, program, "", none, none, AT_EMPTY_PATH); }},
       {"fork", [ended] { return ended(call(SYS_fork)); }},
       {"fork of the C library", [ended] { return ended(fork()); }},
       {"clone of a process", [ended] { return ended(call(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }},
       {"clone with namespaces",
        [ended] {
          return ended(call(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
        }},
       {"clone3", [ended] { return ended(call(SYS_clone3, cloned, sizeof cloned)); }},
       {"no longer dumpable", [] { return prctl(PR_SET_DUMPABLE, 0); }},
       {"signal at the parent's end", [] { return prctl(PR_SET_PDEATHSIG, SIGKILL); }}});
}

void add_system_probes(std::vector<Probe>& probes) {
  static int tty, listening;
  tty = terminal();
  listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  listen(listening, 1);
  static char buffer[4096];
  static int pair[2];
  probes.insert(
      probes.end(),
      {{"TIOCSTI", [] { return ioctl(tty, TIOCSTI, "#"); }},
       {"TIOCLINUX", [] { return ioctl(tty, TIOCLINUX, buffer); }},
       {"TIOCSCTTY", [] { return ioctl(tty, TIOCSCTTY, 0); }},
       {"TIOCSPGRP", [] { return ioctl(tty, TIOCSPGRP, buffer); }},
       {"TIOCSETD", [] { return ioctl(tty, TIOCSETD, buffer); }},
       {"TIOCCONS", [] { return ioctl(tty, TIOCCONS, 0); }},
       {"TIOCSWINSZ", [] { return ioctl(tty, TIOCSWINSZ, buffer); }},
       {"FIOASYNC", [] { return ioctl(tty, FIOASYNC, buffer); }},
       {"FIOSETOWN", [] { return ioctl(tty, 0x8901, buffer); }},
       {"O_ASYNC", [] { return fcntl(tty, F_SETFL, O_ASYNC); }},
       {"an ioctl of NVIDIA", [] { return ioctl(tty, _IOWR('F', 0x2a, int), buffer); }},
       {"open /dev/tty", [] { return open("/dev/tty", O_RDWR) < 0 ? (errno = EPERM, -1) : 0; },
        true},
       {"socket inet", [] { return socket(AF_INET, SOCK_STREAM, 0); }},
       {"socket inet6", [] { return socket(AF_INET6, SOCK_DGRAM, 0); }},
       {"socket unix", [] { return socket(AF_UNIX, SOCK_STREAM, 0); }},
       {"socket netlink", [] { return socket(AF_NETLINK, SOCK_RAW, 0); }},
       {"socket vsock", [] { return socket(AF_VSOCK, SOCK_STREAM, 0); }},
       {"socketpair", [] { return socketpair(AF_UNIX, SOCK_STREAM, 0, pair); }},
       {"bind", [] { return bind(listening, reinterpret_cast<sockaddr*>(buffer), 16); }},
       {"listen", [] { return listen(listening, 1); }},
       {"connect", [] { return connect(listening, reinterpret_cast<sockaddr*>(buffer), 16); }},
       {"sendto with an address",
        [] { return sendto(listening, buffer, 1, 0, reinterpret_cast<sockaddr*>(buffer), 16); }},
       {"sendto that connects",
        [] { return sendto(listening, buffer, 1, MSG_FASTOPEN, nullptr, 0); }},
       {"sendmsg that connects",
        [] {
          const msghdr message = {};
          return sendmsg(listening, &message, MSG_FASTOPEN);
        }},
       {"sendmmsg", [] { return sendmmsg(listening, nullptr, 0, 0); }},
       {"filters of sockets",
        [] { return setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, buffer, 16); }},
       {"io_uring_setup", [] { return call(SYS_io_uring_setup, 1, buffer); }},
       {"io_setup", [] { return call(SYS_io_setup, 1, buffer); }},
       {"shmget", [] { return call(SYS_shmget, 0x7777, 4096, 0600 | 01000); }},
       {"semget", [] { return call(SYS_semget, 0x7777, 1, 0600 | 01000); }},
       {"msgget", [] { return call(SYS_msgget, 0x7777, 0600 | 01000); }},
       {"mq_open", [] { return call(SYS_mq_open, "probe", O_CREAT | O_RDWR, 0600, 0); }},
       {"keyctl", [] { return call(SYS_keyctl, 0, -3, 0, 0, 0); }},
       {"bpf", [] { return call(SYS_bpf, 0, buffer, 0); }},
       {"perf_event_open", [] { return call(SYS_perf_event_open, buffer, 0, -1, -1, 0); }},
       {"userfaultfd", [] { return call(SYS_userfaultfd, 0); }},
       {"fanotify_init", [] { return call(SYS_fanotify_init, 0, 0); }},
       {"mount", [] { return call(SYS_mount, "none", "/", "tmpfs", 0, 0); }},
       {"umount", [] { return call(SYS_umount2, "/nowhere", 0); }},
       {"fsopen", [] { return call(SYS_fsopen, "tmpfs", 0); }},
       {"open_tree", [] { return call(SYS_open_tree, AT_FDCWD, "/", 1); }},
       {"mount_setattr", [] { return call(SYS_mount_setattr, -1, "", 0, 0, 0); }},
       {"chroot", [] { return call(SYS_chroot, "/"); }},
       {"chdir", [] { return call(SYS_chdir, "/"); }},
       {"pivot_root", [] { return call(SYS_pivot_root, "/", "/"); }},
       {"unshare", [] { return unshare(CLONE_NEWUSER); }},
       {"setns", [] { return setns(-1, 0); }},
       {"sethostname", [] { return call(SYS_sethostname, "", -1); }},
       {"settimeofday", [] { return call(SYS_settimeofday, 0, 0); }},
       {"clock_settime", [] { return call(SYS_clock_settime, CLOCK_REALTIME, 0); }},
       {"adjtimex", [] { return call(SYS_adjtimex, buffer); }},
       {"syslog", [] { return call(SYS_syslog, 10, 0, 0); }},
       {"quotactl", [] { return call(SYS_quotactl, 0, "", 0, 0); }},
       {"quotactl_fd", [] { return call(SYS_quotactl_fd, -1, 0, 0, 0); }},
       {"swapon", [] { return call(SYS_swapon, "/x", 0); }},
       {"iopl", [] { return call(SYS_iopl, 0); }},
       {"ioperm", [] { return call(SYS_ioperm, 0, 1, 0); }},
       {"personality", [] { return call(SYS_personality, 0); }},
       {"modify_ldt", [] { return call(SYS_modify_ldt, 0, buffer, 16); }},
       {"vmsplice", [] { return call(SYS_vmsplice, 1, 0, 0, 0); }},
       {"reboot", [] { return call(SYS_reboot, 0, 0, 0, 0); }},
       {"kexec_load", [] { return call(SYS_kexec_load, 0, 0, 0, 0); }},
       {"init_module", [] { return call(SYS_init_module, 0, 0, ""); }},
       {"a call of later kernels", [] { return call(470); }},
       {"a call of x32", [] { return call(0x40000000 + 39); }}});
}

/// The probes of files in `folder`, of the process `victim` and of the system.
std::vector<Probe> all_probes(const std::string& folder, pid_t victim) {
  std::vector<Probe> probes;
  add_file_probes(probes, folder);
  add_process_probes(probes, victim);
  add_system_probes(probes);
  return probes;
}

TEST(SandboxProbes, NothingIsLetThroughThatAModelDoesNotNeed) {
  const TempFolder own, other;
  other.write("there", "text");
  const Victim victim;
  const auto prepare = [&] { return all_probes(other.path(), victim.pid()); };
  EXPECT_GE(prepare().size(), 130u);
  EXPECT_EQ(let_through(prepare, own.path(), {}), std::set<std::string>{});
  EXPECT_TRUE(victim.lives());
}

/// Calls of a server on a socket that was opened before.
std::vector<Probe> serving_probes() {
  static int listening, reader, writer;
  static sockaddr_in address;
  static socklen_t length;
  static char buffer[16];
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  length = sizeof address;
  listening = socket(AF_INET, SOCK_STREAM, 0);
  bind(listening, reinterpret_cast<sockaddr*>(&address), length);
  listen(listening, 4);
  getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length);
  writer = socket(AF_INET, SOCK_STREAM, 0);
  connect(writer, reinterpret_cast<sockaddr*>(&address), length);
  return {{"accept4", [] { return reader = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC); }},
          {"setsockopt",
           [] {
             const int on = 1;
             return setsockopt(reader, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
           }},
          {"getpeername",
           [] { return getpeername(reader, reinterpret_cast<sockaddr*>(&address), &length); }},
          {"send", [] { return send(writer, "12345678", 8, MSG_NOSIGNAL); }},
          {"recv", [] { return recv(reader, buffer, 4, 0); }},
          {"recvmsg",
           [] {
             iovec where = {buffer, 4};
             msghdr message = {};
             message.msg_iov = &where;
             message.msg_iovlen = 1;
             return recvmsg(reader, &message, 0);
           }},
          {"sendmsg",
           [] {
             iovec from = {buffer, 4};
             msghdr message = {};
             message.msg_iov = &from;
             message.msg_iovlen = 1;
             return sendmsg(reader, &message, MSG_NOSIGNAL);
           }},
          {"shutdown", [] { return shutdown(reader, SHUT_RDWR); }}};
}

std::vector<Probe> model_probes() {
  static int tty;
  tty = terminal();
  return {{"thread",
           [] {
             long done = -1;
             std::thread([&] { done = 0; }).join();
             return done;
           }},
          {"epoll",
           [] {
             const int epoll = epoll_create1(EPOLL_CLOEXEC), event = eventfd(1, EFD_CLOEXEC);
             epoll_event wanted = {};
             wanted.events = EPOLLIN;
             if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) != 0) return -1;
             return epoll_wait(epoll, &wanted, 1, 0) - 1;
           }},
          {"timerfd", [] { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); }},
          {"modes of a terminal",
           [] {
             termios modes;
             return tcgetattr(tty, &modes) != 0 ? -1 : tcsetattr(tty, TCSAFLUSH, &modes);
           }},
          {"size of a terminal",
           [] {
             winsize size;
             return ioctl(tty, TIOCGWINSZ, &size);
           }},
          {"signal to itself", [] { return std::signal(SIGURG, SIG_IGN), raise(SIGURG); }},
          {"kill itself", [] { return kill(getpid(), SIGURG); }},
          {"own limits",
           [] {
             rlimit limit;
             return getrlimit(RLIMIT_NOFILE, &limit);
           }},
          {"name of a thread", [] { return prctl(PR_SET_NAME, "test"); }},
          {"stdio", [] { return std::fflush(std::fopen("/proc/self/status", "re")); }}};
}

std::set<std::string> names_of(const std::vector<Probe>& probes) {
  std::set<std::string> names;
  for (const Probe& probe : probes) names.insert(probe.name);
  return names;
}

TEST(SandboxProbes, WhatModelsNeedIsLetThrough) {
  const TempFolder own;
  const std::set<std::string> all = names_of(model_probes());
  EXPECT_EQ(let_through(model_probes, own.path(), {}), all);
  EXPECT_EQ(let_through(model_probes, own.path(), {.connections = true}), all);
  EXPECT_EQ(let_through(model_probes, own.path(), {.connections = true, .gpus = true}), all);
}

TEST(SandboxProbes, ServersUseTheSocketsThatWereOpenedBefore) {
  const TempFolder own;
  EXPECT_EQ(let_through(serving_probes, own.path(), {.connections = true}),
            names_of(serving_probes()));
  EXPECT_EQ(let_through(serving_probes, own.path(), {}), std::set<std::string>{});
}

TEST(SandboxProbes, ServersAreLetThroughNothingElse) {
  const TempFolder own, other;
  other.write("there", "text");
  const Victim victim;
  const auto prepare = [&] { return all_probes(other.path(), victim.pid()); };
  EXPECT_EQ(let_through(prepare, own.path(), {.connections = true}), std::set<std::string>{});
  EXPECT_EQ(let_through(prepare, own.path(), {.connections = true, .gpus = true}),
            std::set<std::string>{"an ioctl of NVIDIA"});
  EXPECT_TRUE(victim.lives());
}

}  // namespace
}  // namespace longhaul
