#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "cli/command.h"

namespace longhaul {
namespace {

CancelFlag interrupted;

extern "C" void on_interrupt(int) {
  if (interrupted.requested()) _exit(kExitCancelled);
  interrupted.request();
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
  handle_interrupt_with(on_interrupt);
}
Interrupt::~Interrupt() { handle_interrupt_with(SIG_DFL); }

CancelFlag& Interrupt::flag() { return interrupted; }

}  // namespace longhaul
