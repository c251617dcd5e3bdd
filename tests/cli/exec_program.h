#pragma once
// The last step of a child process that becomes the program.

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace longhaul::testing_support {

/// Sets `variables` in the environment and executes the program. The caller handles files.
[[noreturn]] inline void exec_program(
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  setenv("XDG_CACHE_HOME", "/nowhere", 1);  // tests must not use the developer's models
  setenv("CUDA_VISIBLE_DEVICES", "", 1);    // nor a GPU, which --device auto would use
  setenv("LONGHAUL_MODEL", "nano", 1);      // for commands that name none
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv{const_cast<char*>(LONGHAUL_BINARY)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(LONGHAUL_BINARY, argv.data());
  _exit(127);
}

}  // namespace longhaul::testing_support
