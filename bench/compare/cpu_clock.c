// A clock for machines with other users: monotonic time becomes the process's CPU time. A program
// with one thread then measures the time that it used and not the time that it waited for a core.
//   cc -shared -fPIC bench/compare/cpu_clock.c -o cpu_clock.so
//   LD_PRELOAD=./cpu_clock.so build/release/src/cli/longhaul bench -m FILE -t 1
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* time) {
  if (clock == CLOCK_MONOTONIC) clock = CLOCK_PROCESS_CPUTIME_ID;
  return (int)syscall(SYS_clock_gettime, clock, time);
}
