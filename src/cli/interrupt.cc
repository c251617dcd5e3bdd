#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "cli/command.h"

namespace longhaul {
namespace {

CancelFlag interrupted;
std::atomic<const char*> announcement = nullptr;

extern "C" void on_interrupt(int) {
  if (interrupted.requested()) _exit(kExitCancelled);
  interrupted.request();
  const char* line = announcement.load();
  if (line != nullptr) (void)!write(STDERR_FILENO, line, std::strlen(line));
}

void handle_interrupt_with(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // no SA_RESTART: a read from the terminal must return
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted.clear();
  announcement = nullptr;
  handle_interrupt_with(on_interrupt);
}
Interrupt::~Interrupt() { handle_interrupt_with(SIG_DFL); }

void Interrupt::announce(const char* line) { announcement = line; }

CancelFlag& Interrupt::flag() { return interrupted; }

}  // namespace longhaul
