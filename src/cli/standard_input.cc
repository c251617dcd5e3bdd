#include "cli/standard_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"

namespace longhaul {
namespace {

bool is_pipe(const struct stat& input) {
  return S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode);
}

}  // namespace

bool input_is_piped() {
  struct stat input {};
  if (fstat(STDIN_FILENO, &input) != 0) return false;
  if (S_ISREG(input.st_mode)) return lseek(STDIN_FILENO, 0, SEEK_CUR) < input.st_size;
  return is_pipe(input);
}

void wait_for_piped_text(bool quiet) {
  constexpr int kPatience = 2000;  // milliseconds
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (quiet || poll(&input, 1, kPatience) != 0) return;
  std::fputs("waiting for a text on standard input, which is a pipe ('< /dev/null' gives none)\n",
             stderr);
}

void warn_unread_input() {
  struct stat input {};
  int waiting = 0;
  if (fstat(STDIN_FILENO, &input) != 0 || !is_pipe(input)) return;
  if (ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting == 0) return;
  warn("standard input is ignored with -f and --load; '-f -' reads it");
}

}  // namespace longhaul
