#pragma once
// Drops, for the rest of the process, all rights that reading a model and answering do not need,
// with Linux's Landlock (files) and seccomp (system calls).

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct Sandbox {
  bool files = false;  ///< Landlock: nothing is written, made, removed or run but where it may be
  bool calls = false;  ///< seccomp: only the calls that reading a model and answering need
  double seconds = 0;  ///< time of the set-up

  /// "landlock and seccomp, set up in 0.1 ms".
  std::string description() const;
};

/// Rights beyond reading files and computing.
struct SandboxRights {
  /// For servers: sockets opened before may accept connections, receive and send. New sockets,
  /// connect, bind and listen stay refused.
  bool connections = false;
  bool gpus = false;  ///< ioctl of NVIDIA's driver, and connections between its processes
};

/// Must be called before any thread is started and before the model is opened. Files may then be
/// read everywhere, and written only in the folders `written` and the temporary folder. System
/// calls that are not on the list of sandbox.cc fail with EPERM, or with ENOSYS if the C library
/// has a replacement. Mechanisms that the kernel lacks are left out.
Sandbox enter_sandbox(const std::vector<std::filesystem::path>& written,
                      const SandboxRights& rights = {});

}  // namespace longhaul
