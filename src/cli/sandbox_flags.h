#pragma once
// The flags --sandbox and --no-sandbox of the commands that open a model.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "base/sandbox.h"
#include "engine/session.h"

namespace longhaul {

struct SandboxFlags {
  bool asked = false, unwanted = false;

  void add_to(CLI::App& app);
  /// Drops all permissions except those for reading a model (base/sandbox.h) and for writing to the
  /// folders `written`. With --sandbox, reports this unless `quiet`, and throws UserError if the
  /// system offers no sandbox.
  void enter(const std::vector<std::filesystem::path>& written, bool quiet,
             const SandboxRights& rights = {}) const;
  /// Like enter(), for settings that may need more permissions: a method that writes a file given
  /// by an option, or a GPU, whose driver writes to devices. Such commands are sandboxed only with
  /// --sandbox.
  void enter_for(const SessionOptions& session, const std::vector<std::filesystem::path>& written,
                 bool quiet) const;
};

}  // namespace longhaul
