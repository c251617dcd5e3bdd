#pragma once
// Drops rights for the rest of the process, with Linux's Landlock (files) and seccomp (system
// calls). Only the rights to read a model and to compute replies remain.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct Sandbox {
  bool files = false;  ///< Landlock is active: files are written, created, removed or run only in
                       ///< permitted folders
  bool calls = false;  ///< seccomp is active: only the necessary system calls are permitted
  double seconds = 0;  ///< time of the set-up

  /// Returns a text such as "landlock and seccomp, set up in 0.1 ms".
  std::string description() const;
};

/// Rights beyond reading files and computing.
struct SandboxRights {
  /// For servers. Sockets that are already open may accept connections, receive and send. New
  /// sockets, connect, bind and listen are refused.
  bool connections = false;
  bool gpus = false;  ///< ioctl of NVIDIA's driver, and connections between its processes
  /// For a process that runs other programs on untrusted input. It may start the programs of PATH
  /// and of the system, which inherit the sandbox. Files are read only in the folders of these
  /// programs and of their libraries; none are written, not even in the temporary folder.
  bool programs = false;
};

/// Enters the sandbox. Must be called before any thread is started and before the model is opened.
/// Afterwards files may be read everywhere, but written only in the folders `written` and in the
/// temporary folder. System calls that are not on the list of sandbox.cc fail with EPERM, or with
/// ENOSYS if the C library has a replacement. Mechanisms that the kernel lacks are left out.
Sandbox enter_sandbox(const std::vector<std::filesystem::path>& written,
                      const SandboxRights& rights = {});

}  // namespace longhaul
