#include "base/shrunk_file.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/error.h"

namespace longhaul {

/// Never freed but reused, because a signal handler may be reading it.
struct WatchedMapping {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> bytes{0};  // 0: unused
  char line[512] = {};           // complete before `bytes` becomes nonzero
  size_t line_bytes = 0;
  WatchedMapping* next = nullptr;
};

namespace {

constexpr std::string_view kErrorPrefix = "error: ";

std::atomic<WatchedMapping*> first_mapping{nullptr};
std::mutex changing;

const WatchedMapping* mapping_at(uintptr_t address) {
  for (const WatchedMapping* m = first_mapping; m != nullptr; m = m->next) {
    if (address >= m->begin && address - m->begin < m->bytes) return m;
  }
  return nullptr;
}

/// Uses only async-signal-safe calls.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const WatchedMapping* mapping = mapping_at(reinterpret_cast<uintptr_t>(info->si_addr));
  if (mapping == nullptr) {  // another kind of fault: restores the default action and returns
    std::signal(signal, SIG_DFL);
    return;
  }
  constexpr int kExitUserFault = 2;
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  while (said.test_and_set()) pause();  // another thread faulted first and ends the program
  (void)!write(STDERR_FILENO, mapping->line, mapping->line_bytes);
  _exit(kExitUserFault);
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, nullptr);
  });
}

WatchedMapping* unused_mapping() {
  for (WatchedMapping* m = first_mapping; m != nullptr; m = m->next) {
    if (m->bytes == 0) return m;
  }
  auto* made = new WatchedMapping;
  made->next = first_mapping;
  first_mapping = made;
  return made;
}

/// Standard error may be a terminal, so control characters in names are replaced. Long names are
/// shortened at the front.
void set_line(WatchedMapping& mapping, const std::string& file) {
  constexpr std::string_view kBehind =
      ": became shorter, or could not be read, while it was in use\n";
  const size_t room = sizeof mapping.line - kErrorPrefix.size() - kBehind.size();
  const std::string_view name =
      std::string_view(file).substr(file.size() - std::min(room, file.size()));
  char* at = std::copy(kErrorPrefix.begin(), kErrorPrefix.end(), mapping.line);
  at = std::transform(name.begin(), name.end(), at, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte >= 0x7f ? '?' : c;
  });
  at = std::copy(kBehind.begin(), kBehind.end(), at);
  mapping.line_bytes = static_cast<size_t>(at - mapping.line);
}

}  // namespace

WatchedMapping* watch_mapping(const void* address, size_t bytes, const std::string& file) {
  install_handler();
  const std::lock_guard lock(changing);
  WatchedMapping* mapping = unused_mapping();
  set_line(*mapping, file);
  mapping->begin = reinterpret_cast<uintptr_t>(address);
  mapping->bytes = bytes;
  return mapping;
}

void refuse_shrunk_file(const void* address) {
  const std::lock_guard lock(changing);
  const WatchedMapping* mapping = mapping_at(reinterpret_cast<uintptr_t>(address));
  if (mapping == nullptr) return;
  std::string_view line(mapping->line, mapping->line_bytes);
  line.remove_prefix(kErrorPrefix.size());
  line.remove_suffix(1);
  user_error("{}", line);
}

void forget_mapping(WatchedMapping* mapping) {
  if (mapping == nullptr) return;
  const std::lock_guard lock(changing);
  mapping->bytes = 0;
}

}  // namespace longhaul
