#pragma once
// Giving up what a program that reads a model and answers has no need of, for the rest of its life:
// Linux's Landlock (files) and seccomp (system calls).

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct Sandbox {
  bool files = false;  ///< Landlock: nothing is written, made, removed or run but where it may be
  bool calls = false;  ///< seccomp: no sockets, no programs, no other processes
  double seconds = 0;  ///< that it took to set up

  /// "landlock and seccomp, set up in 0.1 ms".
  std::string description() const;
};

/// Before any thread is started, and before the model is opened: files may be read everywhere, and
/// written only in the folders `written` and the temporary one. What the kernel lacks is left out.
Sandbox enter_sandbox(const std::vector<std::filesystem::path>& written);

}  // namespace longhaul
