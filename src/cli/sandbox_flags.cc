#include "cli/sandbox_flags.h"

#include <cstdio>

#include "base/error.h"

namespace longhaul {
namespace {

/// The leak checker of sanitizer builds traces the program from another process.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kByItself = false;
#else
constexpr bool kByItself = true;
#endif

}  // namespace

void SandboxFlags::add_to(CLI::App& app) {
  CLI::Option* on = app.add_flag("--sandbox", asked,
                                 "Refuse to run without a sandbox (it is entered by default where "
                                 "the system has one), and print what is active")
                        ->group("Machine");
  app.add_flag("--no-sandbox", unwanted,
               "Do not enter the sandbox, which forbids programs, network and writing elsewhere")
      ->excludes(on)
      ->group("Machine");
}

void SandboxFlags::enter(const std::vector<std::filesystem::path>& written, bool quiet,
                         const SandboxRights& rights) const {
  if (unwanted || (!asked && !kByItself)) return;
  const Sandbox sandbox = enter_sandbox(written, rights);
  if (!asked) return;
  if (!sandbox.files && !sandbox.calls) {
    user_error("--sandbox: this system has neither Landlock nor seccomp");
  }
  if (!quiet) std::fputs(("sandbox      " + sandbox.description() + "\n").c_str(), stderr);
}

void SandboxFlags::enter_for(const SessionOptions& session,
                             const std::vector<std::filesystem::path>& written, bool quiet) const {
  const bool needs_more = session.attention.writes() || !session.queue.on_host();
  if (asked || !needs_more) enter(written, quiet, {.gpus = !session.queue.on_host()});
}

}  // namespace longhaul
