#pragma once
// --sandbox and --no-sandbox of the commands that read a model.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "engine/session.h"

namespace longhaul {

struct SandboxFlags {
  bool asked = false, unwanted = false;

  void add_to(CLI::App& app);
  /// Gives up the rights that reading a model does not need (base/sandbox.h), but for writing to
  /// the folders `written`. With --sandbox the user is told, unless `quiet`; UserError where the
  /// system offers no sandbox.
  void enter(const std::vector<std::filesystem::path>& written, bool quiet) const;
  /// The same where the settings may need more than that: a method that writes where its option
  /// says, or a GPU, whose driver writes to devices, have walls around them only by --sandbox.
  void enter_for(const SessionOptions& session, const std::vector<std::filesystem::path>& written,
                 bool quiet) const;
};

}  // namespace longhaul
