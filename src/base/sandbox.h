#pragma once
// Drops, for the rest of the process, all rights that reading a model and answering do not need,
// with Linux's Landlock (files) and seccomp (system calls).

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct Sandbox {
  bool files = false;  ///< Landlock: writing, creating, removing and executing only where allowed
  bool calls = false;  ///< seccomp: no sockets, programs or other processes
  double seconds = 0;  ///< time for the set-up

  /// "landlock and seccomp, set up in 0.1 ms".
  std::string description() const;
};

/// Call it before any thread is started and before the model is opened. All files stay readable;
/// writing is allowed only in the folders `written` and the temporary one. Features that the kernel
/// lacks are skipped.
Sandbox enter_sandbox(const std::vector<std::filesystem::path>& written);

}  // namespace longhaul
