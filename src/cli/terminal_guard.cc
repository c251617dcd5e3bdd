#include "cli/terminal_guard.h"

#include <unistd.h>

#include <cerrno>

#include "text/terminal_text.h"

namespace longhaul {
namespace {

std::FILE* output_before = nullptr;

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

struct Guarded {
  int file;
  TerminalText filter;
};

ssize_t write_guarded(void* cookie, const char* data, size_t size) {
  auto* guarded = static_cast<Guarded*>(cookie);
  const std::string text = guarded->filter.push({data, size});
  return write_all(guarded->file, text) ? static_cast<ssize_t>(size)
                                        : 0;  // 0 means an error; errno is kept
}

/// Lives as long as the process, because it writes until its end.
std::FILE* guard(int file, int buffering) {
  auto* guarded = new Guarded{file, {}};
  std::FILE* stream = fopencookie(
      guarded, "w", {.read = nullptr, .write = write_guarded, .seek = nullptr, .close = nullptr});
  if (stream != nullptr) setvbuf(stream, nullptr, buffering, BUFSIZ);
  return stream;
}

}  // namespace

void guard_terminals() {
  output_before = stdout;
  // Without memory for a stream the program cannot continue usefully either.
  if (isatty(STDOUT_FILENO) == 1) {
    if (std::FILE* stream = guard(STDOUT_FILENO, _IOLBF)) stdout = stream;
  }
  if (isatty(STDERR_FILENO) == 1) {
    if (std::FILE* stream = guard(STDERR_FILENO, _IONBF)) stderr = stream;
  }
}

std::FILE* unguarded_output() { return output_before != nullptr ? output_before : stdout; }

void control_terminal(std::string_view sequence) {
  std::fflush(stderr);
  write_all(STDERR_FILENO, sequence);
}

}  // namespace longhaul
