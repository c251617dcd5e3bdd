#pragma once
// Defines the flags --sandbox and --no-sandbox of the commands that open a model.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "base/sandbox.h"
#include "engine/session.h"

namespace longhaul {

struct SandboxFlags {
  bool asked = false, unwanted = false;

  void add_to(CLI::App& app);
  /// Enters the sandbox (base/sandbox.h), unless --no-sandbox is given. Afterwards files can be
  /// written only in the folders `written`. If --sandbox is given, prints a line about it unless
  /// `quiet` is true, and throws UserError if the system has no sandbox.
  void enter(const std::vector<std::filesystem::path>& written, bool quiet,
             const SandboxRights& rights = {}) const;
  /// Like enter(), but depends on the session options. Some options need more permissions: a method
  /// that writes a file, or a GPU, whose driver writes to devices. With such options, the sandbox
  /// is entered only if --sandbox is given.
  void enter_for(const SessionOptions& session, const std::vector<std::filesystem::path>& written,
                 bool quiet) const;
};

}  // namespace longhaul
