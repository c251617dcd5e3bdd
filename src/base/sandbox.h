#pragma once
// Removes rights from the process for the rest of its life. The sandbox uses Linux's Landlock for
// files and seccomp for system calls. Only the rights to read a model and to compute replies
// remain.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct Sandbox {
  /// Whether Landlock is active: files can be written, created, removed or executed only in
  /// permitted folders.
  bool files = false;
  bool calls = false;  ///< whether seccomp is active: only the necessary system calls are permitted
  double seconds = 0;  ///< duration of the set-up

  /// Returns a text such as "landlock and seccomp, set up in 0.1 ms".
  std::string description() const;
};

/// Rights in addition to reading files and computing.
struct SandboxRights {
  /// Whether the process is a server. It can then accept connections on sockets that are already
  /// open, and receive and send on open sockets. It cannot create, connect, bind or listen on
  /// sockets.
  bool connections = false;
  /// Whether the process uses NVIDIA's GPUs. The ioctl calls of their driver are then permitted,
  /// and open sockets may be used as with `connections`.
  bool gpus = false;
  /// Whether the process executes other programs on untrusted input. It can then start the programs
  /// in PATH and of the system, which inherit the sandbox. It can read files only in the folders of
  /// these programs and of their libraries. It cannot write files, not even in the temporary
  /// folder.
  bool programs = false;
};

/// Enters the sandbox. Call it before any thread is started and before the model is opened.
/// Afterwards files can be read everywhere, but written only in the folders `written` and in the
/// temporary folder. System calls that are not listed in base/sandbox_calls.h fail with EPERM, or
/// with ENOSYS if the C library has a replacement. A mechanism that the kernel does not support is
/// not used.
Sandbox enter_sandbox(const std::vector<std::filesystem::path>& written,
                      const SandboxRights& rights = {});

}  // namespace longhaul
