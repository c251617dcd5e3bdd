#pragma once
// --sandbox and --no-sandbox of the commands that read a model.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "base/sandbox.h"
#include "engine/session.h"

namespace longhaul {

struct SandboxFlags {
  bool asked = false, unwanted = false;

  void add_to(CLI::App& app);
  /// Drops the rights that reading a model does not need (base/sandbox.h), except writing to the
  /// folders `written`. With --sandbox it reports this, unless `quiet`; UserError if the system
  /// offers no sandbox.
  void enter(const std::vector<std::filesystem::path>& written, bool quiet,
             const SandboxRights& rights = {}) const;
  /// Variant for settings that may need more rights: a method that writes a file given by an
  /// option, or a GPU, whose driver writes to devices. These are sandboxed only with --sandbox.
  void enter_for(const SessionOptions& session, const std::vector<std::filesystem::path>& written,
                 bool quiet) const;
};

}  // namespace longhaul
