#pragma once
// Lists the system calls that a process in the sandbox (base/sandbox.h) may make.

#include <linux/audit.h>
#include <sys/syscall.h>

#include <cstdint>

namespace longhaul {

#if defined(__x86_64__)
inline constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox has no table of calls for this architecture"
#endif

// System calls that are allowed with any arguments. They affect only this process, open
// descriptors, and files, which Landlock restricts. Frequent calls come first.
// clang-format off
inline constexpr uint32_t kAllowed[] = {
    // Memory, threads and time.
    SYS_futex, SYS_madvise, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_brk, SYS_mincore,
    SYS_msync, SYS_mlock, SYS_munlock, SYS_mbind, SYS_get_mempolicy, SYS_set_mempolicy,
    SYS_membarrier, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getcpu,
    SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_getrandom, SYS_restart_syscall,
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_times, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun,
    SYS_timer_delete, SYS_setitimer, SYS_getitimer, SYS_timerfd_create, SYS_timerfd_settime,
    SYS_timerfd_gettime, SYS_exit, SYS_exit_group,
    // Signals that this process receives, and information about the process and the machine.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_sigaltstack, SYS_signalfd4, SYS_getpid,
    SYS_gettid, SYS_getppid, SYS_getpgid, SYS_getsid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_getgroups, SYS_getpriority, SYS_getrusage, SYS_getrlimit, SYS_setrlimit,
    SYS_uname, SYS_sysinfo, SYS_wait4, SYS_waitid,
    // Open descriptors.
    SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv,
    SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_close, SYS_close_range, SYS_dup,
    SYS_dup3, SYS_pipe2, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl,
    SYS_epoll_pwait, SYS_eventfd2, SYS_flock, SYS_fsync, SYS_fdatasync, SYS_fallocate,
    SYS_ftruncate, SYS_fadvise64, SYS_readahead, SYS_sendfile, SYS_copy_file_range,
    // Files by name.
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_faccessat2,
    SYS_getcwd, SYS_getdents64, SYS_readlinkat, SYS_renameat, SYS_renameat2, SYS_unlinkat,
    SYS_mkdirat,
    // Calls that restrict the process further.
    SYS_seccomp, SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self,
};

#if defined(__x86_64__)
// Older forms of the calls above. Newer architectures do not have them.
inline constexpr uint32_t kAllowedOlder[] = {
    SYS_poll, SYS_epoll_wait, SYS_select, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_time,
    SYS_alarm, SYS_pause, SYS_getpgrp, SYS_dup2, SYS_pipe, SYS_rename, SYS_unlink, SYS_mkdir,
    SYS_rmdir,
};
#endif

// Calls on connections, which are allowed for servers.
inline constexpr uint32_t kAllowedToServers[] = {
    SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_getsockopt, SYS_getsockname,
    SYS_getpeername, SYS_shutdown,
};

// Calls that are allowed for a process that executes other programs, and for these programs.
inline constexpr uint32_t kAllowedToPrograms[] = {
#if defined(__x86_64__)
    SYS_vfork,
#endif
    SYS_execve, SYS_memfd_create, SYS_umask, SYS_chdir, SYS_fchdir, SYS_getppid, SYS_getrandom,
    SYS_mlockall, SYS_munlockall,
};
// clang-format on

// The sandbox rejects these calls with ENOSYS, because their arguments are in memory, where a
// filter cannot check them. The C library then uses older calls instead.
inline constexpr uint32_t kReplaced[] = {SYS_clone3, SYS_openat2};
inline constexpr uint32_t kFirstUnknown = SYS_landlock_restrict_self + 1;

}  // namespace longhaul
